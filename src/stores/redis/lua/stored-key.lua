-- What is kept of a key. A state starts with its own time, a whole number. What comes before it starts with another one: a block is
-- -math.huge and two times, n holds are the number -n - 0.5, two numbers and five columns, n grants the number -n - 0.75, four numbers and
-- three of each, and before all that, where the rule may change, is the rule that counted: -0.5, the length of its text, and the text. With -0.25 that rule was only taken over by a refusal, and nothing has
-- been counted by it yet. What cannot be one of these is nothing that was written here. Of a long timeline
-- the front is all that.
local function readKey(key, rule, isChanging)
  local line, value = nil, nil
  if rule.spanMs then
    line, value = readPlaces(key)
  end
  value = value or redis.call('GET', key)
  local stored, at = { exists = value ~= false, countedBy = rule, isConverted = false }, 1
  if not value then
    return stored
  end
  local mark = #value >= 8 and struct.unpack('<d', value) or 0
  if isChanging and #value >= 16 and (mark == -0.5 or mark == -0.25) then
    local length, words = struct.unpack('<d', value, 9), {}
    at = 17 + (isWhole(length, 0, #value - 16) and length or 0)
    stored.text, stored.isConverted = string.sub(value, 17, at - 1), mark == -0.25
    for word in string.gmatch(stored.text, '%S+') do
      words[#words + 1] = word
    end
    local isRule = words[1] == rule.name and #words == 1 + rule.size
    if isRule and stored.text ~= rule.text then
      isRule, stored.countedBy = pcall(readRule, words[1], words, 2)
    end
    assertOwn(isRule)
    mark = #value >= at + 7 and struct.unpack('<d', value, at) or 0
  end
  if mark == -math.huge and #value >= at + 23 then
    local _, blockAtMs, untilMs = struct.unpack('<ddd', value, at)
    assertOwn(isWhole(blockAtMs, 0, 2 * EXACT) and isWhole(untilMs, blockAtMs + 1, 2 * EXACT))
    stored.blockAtMs, stored.untilMs, at = blockAtMs, untilMs, at + 24
    mark = #value >= at + 7 and struct.unpack('<d', value, at) or 0
  end
  local count = -mark - 0.5
  if isWhole(count, 1) and #value >= at + 23 + count * 40 then
    stored.holds = readHolds(value, at + 8, count)
    at = at + 24 + count * 40
    mark = #value >= at + 7 and struct.unpack('<d', value, at) or 0
  end
  count = -mark - 0.75
  if isWhole(count, 1) and #value >= at + 39 + count * 24 then
    stored.grants = readGrants(value, at + 8, count)
    at = at + 40 + count * 24
  end
  local hasState = line or at == 1 or at <= #value
  if line then
    stored.state = at > #value and readLong(key, line)
  elseif hasState then
    stored.state = rule.read(value, at)
  end
  assertOwn(stored.state or not hasState)
  return stored
end

-- The rule of a key has changed: what is used keeps its share of the limit, rounded up, and counts as used now. So no change
-- is a free refill, and none shuts a client out for longer than the new rule shuts out one that has just used it up.
local function recount(rule, stored, entry, timeMs, nowMs)
  local counting = stored.countedBy
  local state, _, used, remaining, freshMs =
    entry.state and stateAfter(counting, entry.state, timeMs, 0), nil, nil, nil, nil
  if rule.refunds == 'leased' then
    -- A permit is a permit, whatever the limit.
    entry.state = state
  else
    if rule.refunds == 'pooled' then
      -- A rule that shapes has less remaining than is free: what could be given back tells.
      used = countTaken(counting, state, timeMs)
    else
      _, remaining = step(counting, state, timeMs, 0, true)
      used = counting.limit - remaining
    end
    entry.state = stateAfter(rule, nil, timeMs, math.ceil(used * rule.limit / counting.limit))
    if entry.holds then
      entry.holds = recountHolds(rule, counting, entry.holds, state, timeMs)
    end
  end
  if stored.state then
    -- What is kept of a state that only the other rule has counted lasts as long as that says.
    _, _, freshMs = step(counting, stored.state, timeMs, 0, true)
    entry.keptMs = freshMs > 0 and freshMs + timeMs - nowMs or 0
  end
  -- A state in which nothing is used any more may have been forgotten, and then there is nothing to take over either.
  if not stored.isConverted and (entry.state or entry.holds) then
    -- Stored even by a refusal: if it were not, it would be used anew at every request. But only by one, until something is
    -- counted: callers who disagree about the rule for long must not use it anew at every request either.
    entry.changed, entry.keptMs = true, 0
    entry.kept = { state = entry.state, holds = entry.holds, grants = entry.grants }
    entry.kept.countedBy, entry.kept.text, entry.kept.isConverted = rule, rule.text, true
  end
end

-- What a decision works on: the parts are those that are kept until it changes one. kept stays unless something is counted: holds that
-- have expired, and a rule that has changed, change what is kept then, and not before.
local function openEntry(rule, stored, nowMs)
  local entry = {
    exists = stored.exists,
    changed = false,
    counted = false,
    resetAfterMs = 0,
    timeMs = nil,
    state = stored.state,
    holds = stored.holds,
    grants = stored.grants,
    blockAtMs = stored.blockAtMs,
    untilMs = stored.untilMs,
    kept = stored,
    keptMs = 0,
  }
  local timeMs = keyTime(stored.countedBy, entry, nowMs)
  if stored.countedBy ~= rule and not entry.isUnfinished then
    recount(rule, stored, entry, timeMs, nowMs)
  end
  return entry
end

local function writeKey(key, rule, stored, isChanging, isServerTime)
  if not stored.exists then
    return redis.call('DEL', key)
  end
  local tag = isChanging and struct.pack('<dd', stored.isConverted and -0.25 or -0.5, #stored.text) .. stored.text or ''
  local block = stored.untilMs and struct.pack('<ddd', -math.huge, stored.blockAtMs, stored.untilMs) or ''
  local front, state, ids, amounts, lefts, takens, untils = tag .. block, stored.state, '', '', '', '', ''
  if stored.holds then
    front, ids, amounts, lefts, takens, untils = writeHolds(stored.holds)
    front = tag .. block .. front
  end
  untils = stored.grants and untils .. writeGrants(stored.grants) or untils
  -- A TTL only frees memory, so it may be late. A caller's clock need not run as fast as the server's: a minute longer.
  local ttlMs = stored.ttlMs and (isServerTime and stored.ttlMs or stored.ttlMs + 60000)
  local ttl = ttlMs and string.format('%.0f', ttlMs)
  if state and state.runs and isLong(state) then
    local line = struct.pack('<ddd', state.atMs, state.newest, state.spanMs)
    writeRuns(key, state.runs, state.first, line, front .. ids .. amounts .. lefts .. takens .. untils)
    return ttl and redis.call('PEXPIRE', key, ttl)
  end
  -- Joined at once: Redis hashes every byte of every string that a script makes.
  local value = front .. ids .. amounts .. lefts .. takens .. untils .. (state and rule.write(state) or '')
  return redis.call('SET', key, value, (table.unpack or unpack)(ttl and { 'PX', ttl } or { 'KEEPTTL' }))
end

-- Keeps what an unfinished entry has given back, and nothing else.
local function keepUnfinished(key, stored, entry, isChanging)
  stored.state, stored.holds, stored.blockAtMs, stored.untilMs =
    entry.state, entry.holds, entry.blockAtMs, entry.untilMs
  stored.grants = entry.grants
  writeKey(key, stored.countedBy, stored, isChanging)
end

-- What is kept of a key after a decision that has changed it.
local function closeEntry(rule, entry)
  if entry.resetAfterMs == 0 then
    return { exists = false, countedBy = rule, isConverted = false }
  end
  local kept = entry.counted and entry or entry.kept
  return {
    exists = true,
    ttlMs = math.max(entry.resetAfterMs, entry.counted and 0 or entry.keptMs),
    state = kept.state,
    holds = kept.holds,
    grants = kept.grants,
    blockAtMs = entry.blockAtMs,
    untilMs = entry.untilMs,
    countedBy = entry.counted and rule or kept.countedBy,
    text = not entry.counted and kept.text or rule.text,
    isConverted = not entry.counted and kept.isConverted,
  }
end
