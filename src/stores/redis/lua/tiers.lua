-- The rule of a tier as ARGV[at] names it. Answers where its parameters end.
local function readTier(at)
  local name = ARGV[at]
  local rule = ruleOf(name, ARGV, at + 1)
  rule.stamp = table.concat(ARGV, ' ', at, at + rule.size)
  return rule, at + 1 + rule.size
end

-- The rule of a key has changed: what is used keeps its share of the limit, rounded up, and counts as used now. So no change is
-- a free refill, and none shuts a client out for longer than the new rule shuts out one that has just used it up.
local function usedOf(rule, state, timeMs)
  local _, remaining, resetAfterMs, used
  if rule.holds ~= 'pooled' then
    _, remaining = rule.step(state, timeMs, 0, true)
    return rule.limit - remaining
  end
  -- A rule that shapes has less remaining than is free: what could be given back tells.
  _, _, _, _, _, used = rule.step(state, timeMs, -EXACT, true)
  _, _, resetAfterMs = rule.step(state, timeMs, -used, true)
  return resetAfterMs > 0 and used + 1 or used
end

local function recount(maker, rule, entry, nowMs)
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

-- An entry whose rule may change starts with the rule that it was counted by: -0.5, the length of its text, and the text.
local function readChanging(rule, value, nowMs)
  local stamp = struct.pack('<dd', -0.5, #rule.stamp) .. rule.stamp
  local isStamped = value and #value >= 16 and struct.unpack('<d', value) == -0.5
  local length = isStamped and struct.unpack('<d', value, 9) or 0
  local maker, words = rule, {}
  if isStamped and value:sub(1, 16 + length) ~= stamp then
    for word in string.gmatch(value:sub(17, 16 + length), '%S+') do
      words[#words + 1] = word
    end
    maker = ruleOf(words[1], words, 2)
  end
  local entry = readEntry(maker.isState, isStamped and value:sub(17 + length) or value)
  entry.asMade = { stamp = isStamped and value:sub(1, 16 + length) or stamp, state = entry.state, holds = entry.holds }
  entry.stamp = stamp
  if maker ~= rule then
    recount(maker, rule, entry, nowMs)
  end
  return entry
end

local function copyOf(entry)
  local copy = {}
  for name, value in pairs(entry) do
    copy[name] = value
  end
  return copy
end

local function readPart(index, at, value, nowMs)
  local rule, next = readTier(at)
  local request = ARGV[next] or '1'
  local isChanging, isShadow = string.sub(request, 1, 9) == 'changing:', false
  request = isChanging and string.sub(request, 10) or request
  isShadow = string.sub(request, 1, 7) == 'shadow:'
  request = isShadow and string.sub(request, 8) or request
  local entry = isChanging and readChanging(rule, value, nowMs) or readEntry(rule.isState, value)
  local cost = tonumber(string.match(request, '^(%d+)') or string.match(request, '^hold:(%d+)'))
  return { key = KEYS[index], rule = rule, request = request, isShadow = isShadow, entry = entry, cost = cost },
    next + 1
end

-- Reads every key, decides every tier, and writes only then. What costs or holds is taken from all tiers or from none.
local function decideTiers(values, count, nowMs, isServerTime)
  local parts, at, isRefused, seen = {}, 3, false, {}
  for index = 1, count do
    local part
    part, at = readPart(index, at, values[index], nowMs)
    parts[index] = part
    if seen[part.key] then
      error('sluice: each tier has a key of its own, got twice ' .. part.key, 0)
    end
    seen[part.key] = true
    part.before = part.cost and copyOf(part.entry)
    part.reply = { decide(part.rule, part.entry, part.request, nowMs) }
    isRefused = isRefused or (part.cost and not part.isShadow and part.reply[1] == 0)
  end
  local reply = {}
  for _, part in ipairs(parts) do
    if isRefused and part.cost and part.reply[1] == 1 then
      part.entry = part.before
      part.reply = { judge(part.rule, part.entry, part.cost, nowMs, false) }
    end
    for _, number in ipairs(part.reply) do
      reply[#reply + 1] = number
    end
  end
  for _, part in ipairs(parts) do
    writeEntry(part.key, part.entry, isServerTime)
  end
  reply[#reply + 1] = nowMs
  return reply, not isRefused
end

-- What an id was first answered with is kept under a key of its own: when that ends, and the reply.
local function decideOnce(memoMs, nowMs, isServerTime)
  local values, reply, isAllowed = readKeys(), {}, nil
  local known = memoMs > 0 and values[#KEYS]
  if known and #known >= 16 and struct.unpack('<d', known) > nowMs then
    for at = 9, #known, 8 do
      reply[#reply + 1] = struct.unpack('<d', known, at)
    end
    return reply
  end
  reply, isAllowed = decideTiers(values, memoMs > 0 and #KEYS - 1 or #KEYS, nowMs, isServerTime)
  if memoMs > 0 and isAllowed then
    local packed = { struct.pack('<d', nowMs + memoMs) }
    for index, number in ipairs(reply) do
      packed[index + 1] = struct.pack('<d', number)
    end
    local ttlMs = isServerTime and memoMs or memoMs + 60000
    redis.call('SET', KEYS[#KEYS], table.concat(packed), 'PX', string.format('%.0f', ttlMs))
  end
  return reply
end
