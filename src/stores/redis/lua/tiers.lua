-- An entry whose rule may change starts with the rule that it was counted by: -0.5, the length of its text, and the text. With
-- -0.25 the rule was only taken over by a refusal, and nothing has been counted by it yet.
local function readChanging(rule, ruleText, value, nowMs)
  -- What is used of the limit.
  local function usedOf(maker, state, timeMs)
    local _, remaining, used
    if maker.holds ~= 'pooled' then
      _, remaining = maker.step(state, timeMs, 0, true)
      return maker.limit - remaining
    end
    -- A rule that shapes has less remaining than is free: what could be given back tells.
    _, _, _, _, _, used = maker.step(state, timeMs, -EXACT, true)
    return used
  end

  -- The rule of a key has changed: what is used keeps its share of the limit, rounded up, and counts as used now. So no change
  -- is a free refill, and none shuts a client out for longer than the new rule shuts out one that has just used it up.
  local function recount(maker, entry)
    local timeMs, state = steady(maker, entry, nowMs), entry.state
    entry.leastMs = timeMs
    local _, resetAfterMs, next
    if rule.holds == 'leased' then
      -- A place is a place, whatever the limit.
      _, _, resetAfterMs, _, next = maker.step(state, timeMs, 0, true)
      entry.state = resetAfterMs > 0 and next or nil
      return
    end
    local used = state and math.ceil(usedOf(maker, state, timeMs) * rule.limit / maker.limit) or 0
    _, _, resetAfterMs, _, next = rule.step(nil, timeMs, used, true)
    entry.state = resetAfterMs > 0 and next or nil
    entry.holds = entry.holds
      and holding().map(entry.holds, function(hold)
        -- What was counted by the old rule's time and is counted no more must not go back from what is counted now.
        local _, _, _, _, _, returned = maker.step(state, timeMs, -hold.left, true, hold.takenMs)
        return holding().with(hold, math.floor((returned or 0) * rule.limit / maker.limit), timeMs, hold.untilMs)
      end)
  end

  local function stampOf(mark)
    return struct.pack('<dd', mark, #ruleText) .. ruleText
  end

  local madeStamp, maker, mark = nil, rule, value and #value >= 16 and struct.unpack('<d', value)
  if mark == -0.5 or mark == -0.25 then
    local length = struct.unpack('<d', value, 9)
    local words, size = {}, length >= 0 and length <= #value - 16 and length % 1 == 0 and length or 0
    madeStamp, value = value:sub(1, 16 + size), value:sub(17 + size)
    for word in string.gmatch(madeStamp:sub(17), '%S+') do
      words[#words + 1] = word
    end
    if words[1] ~= rule.name then
      error('sluice: the key holds something else than a state of this rule, and it was left as it is', 0)
    end
    maker = madeStamp:sub(17) == ruleText and rule or ruleOf(words[1], words, 2)
  end
  local entry = readEntry(maker.isState, value)
  entry.stamp = stampOf(-0.5)
  entry.asMade = { stamp = madeStamp or entry.stamp, state = entry.state, holds = entry.holds }
  if maker ~= rule then
    local isTakenOver = mark == -0.5 and (entry.state or entry.holds)
    recount(maker, entry)
    if isTakenOver then
      -- Stored even by a refusal: if it were not, it would be used anew at every request. But only by one, until something is
      -- counted: callers who disagree about the rule for long must not use it anew at every request either.
      entry.changed = true
      entry.asMade = { stamp = stampOf(-0.25), state = entry.state, holds = entry.holds }
    end
  end
  return entry
end

-- What one tier is about, as ARGV[at] and what follows it say. Answers where the next one starts.
local function readPart(key, at)
  local rule = ruleOf(ARGV[at], ARGV, at + 1)
  local next = at + 2 + rule.size
  if #ARGV < next - 1 then
    local takes = rule.size .. ' parameters, - for a default, and a request'
    error('sluice: the tier ' .. rule.name .. ' takes ' .. takes .. ', got ' .. #ARGV - at, 0)
  end
  local request, ruleText, isShadow = ARGV[next - 1], nil, false
  if string.sub(request, 1, 9) == 'changing:' then
    request, ruleText = string.sub(request, 10), table.concat(ARGV, ' ', at, at + rule.size)
  end
  if string.sub(request, 1, 7) == 'shadow:' then
    request, isShadow = string.sub(request, 8), true
  end
  local cost, ahead = tonumber(request), nil
  if not cost then
    ahead = string.match(request, '^ahead:(.*)$')
    local asked = ahead or request
    cost = tonumber(asked) or tonumber(string.match(asked, '^(%w+):blockFor:') or string.match(asked, '^hold:(%d+)'))
  end
  local part = {
    key = key,
    rule = rule,
    ruleText = ruleText,
    request = request,
    isShadow = isShadow,
    isAhead = ahead ~= nil,
    cost = cost,
    entry = nil,
  }
  return part, next
end

local function entryOf(part, value, nowMs)
  if part.ruleText then
    return readChanging(part.rule, part.ruleText, value, nowMs)
  end
  return readEntry(part.rule.isState, value)
end

-- Reads every key, decides every tier, and writes only then. What costs or holds is taken from all tiers or from none.
local function decideTiers(values, count, nowMs, isServerTime)
  local parts, at, isRefused, reply = {}, 3, false, {}
  for index = 1, count do
    local part
    part, at = readPart(KEYS[index], at)
    parts[index] = part
    part.entry = entryOf(part, values[index], nowMs)
    local last = 5 * index
    reply[last - 4], reply[last - 3], reply[last - 2], reply[last - 1], reply[last] =
      decide(part.rule, part.entry, part.request, nowMs, part.isShadow)
    isRefused = isRefused or (part.cost and not part.isShadow and reply[last - 4] == 0)
  end
  if at <= #ARGV then
    error('sluice: there are more arguments than ' .. count .. ' tiers take, got ' .. ARGV[at], 0)
  end
  for index, part in ipairs(isRefused and parts or {}) do
    local last = 5 * index
    if part.cost and reply[last - 4] == 1 then
      part.entry = entryOf(part, values[index], nowMs)
      reply[last - 4], reply[last - 3], reply[last - 2], reply[last - 1], reply[last] =
        judge(part.rule, part.entry, part.cost, nowMs, false)
      if part.isAhead then
        reply[last - 2] = asking().nextAfter(part.rule, part.entry, reply[last - 3], nowMs)
      end
    end
  end
  for index, part in ipairs(parts) do
    writeEntry(part.key, part.entry, isServerTime)
    reply[5 * count + index] = part.entry.timeMs
  end
  return reply, not isRefused
end

-- What an id was first answered with is kept under a key of its own: when that ends, and the reply. Answers nil when it is over.
local function recall(known, count, nowMs)
  local untilMs = #known == 8 * (6 * count + 1) and struct.unpack('<d', known) or -1
  if not (untilMs >= 0 and untilMs <= 2 * EXACT and untilMs % 1 == 0) then
    error(
      'sluice: the key of the id holds something else than an answer for as many tiers, and it was left as it is',
      0
    )
  elseif untilMs <= nowMs then
    return nil
  end
  local reply = {}
  for at = 9, #known, 8 do
    reply[#reply + 1] = struct.unpack('<d', known, at)
  end
  return reply
end

local function decideOnce(idMs, nowMs, isServerTime)
  local values, count, seen = readKeys(), idMs > 0 and #KEYS - 1 or #KEYS, {}
  if count < 1 then
    error('sluice: with an idMs the last key is that of the id, and every tier has one before it, got 1 key', 0)
  end
  for _, key in ipairs(KEYS) do
    if seen[key] then
      error('sluice: each tier has a key of its own, got twice ' .. key, 0)
    end
    seen[key] = true
  end
  local known = idMs > 0 and values[#KEYS]
  local reply, isAllowed = known and recall(known, count, nowMs), false
  if reply then
    return reply
  end
  reply, isAllowed = decideTiers(values, count, nowMs, isServerTime)
  if idMs > 0 and isAllowed then
    local packed = { struct.pack('<d', nowMs + idMs) }
    for index, number in ipairs(reply) do
      packed[index + 1] = struct.pack('<d', number)
    end
    local ttlMs = isServerTime and idMs or idMs + 60000
    redis.call('SET', KEYS[#KEYS], table.concat(packed), 'PX', string.format('%.0f', ttlMs))
  end
  return reply
end
