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
    _, _, _, _, _, _, used = maker.step(state, timeMs, -EXACT, true)
    return used
  end

  -- The rule of a key has changed: what is used keeps its share of the limit, rounded up, and counts as used now. So no change
  -- is a free refill, and none shuts a client out for longer than the new rule shuts out one that has just used it up.
  local function recount(maker, entry)
    local timeMs, state = frame().steady(maker, entry, nowMs), entry.state
    entry.leastMs = timeMs
    local _, resetAfterMs, next
    if rule.holds == 'leased' then
      -- A place is a place, whatever the limit.
      _, _, resetAfterMs, _, _, next = maker.step(state, timeMs, 0, true)
      entry.state = resetAfterMs > 0 and next or nil
      return
    end
    local used = state and math.ceil(usedOf(maker, state, timeMs) * rule.limit / maker.limit) or 0
    _, _, resetAfterMs, _, _, next = rule.step(nil, timeMs, used, true)
    entry.state = resetAfterMs > 0 and next or nil
    entry.holds = entry.holds
      and frame().holding().map(entry.holds, function(hold)
        -- What was counted by the old rule's time and is counted no more must not go back from what is counted now.
        local _, _, _, _, _, _, returned = maker.step(state, timeMs, -hold.left, true, hold.takenMs)
        return frame()
          .holding()
          .with(hold, math.floor((returned or 0) * rule.limit / maker.limit), timeMs, hold.untilMs)
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
    local isRule = words[1] == rule.name and #words == 1 + rule.size
    if isRule and madeStamp:sub(17) ~= ruleText then
      isRule, maker = pcall(ruleOf, words[1], words, 2)
    end
    if not isRule then
      error(FOREIGN, 0)
    end
  end
  local entry = frame().readEntry(maker.timeOf, value)
  entry.stamp = stampOf(-0.5)
  entry.asMade = { stamp = madeStamp or entry.stamp, state = entry.state, holds = entry.holds }
  if maker ~= rule then
    local made = entry.state
    recount(maker, entry)
    if made then
      -- What is kept of a state that only the other rule has counted lasts as long as that says.
      local _, _, madeMs = maker.step(made, entry.leastMs, 0, true)
      entry.asMade.resetAfterMs = madeMs > 0 and madeMs + entry.leastMs - nowMs or 0
    end
    -- A state in which nothing is used any more may have been forgotten, and then there is nothing to take over either.
    if mark == -0.5 and (entry.state or entry.holds) then
      -- Stored even by a refusal: if it were not, it would be used anew at every request. But only by one, until something is
      -- counted: callers who disagree about the rule for long must not use it anew at every request either.
      entry.changed = true
      entry.asMade = { stamp = stampOf(-0.25), state = entry.state, holds = entry.holds }
    end
  end
  return entry
end

-- The rules of the tiers, as ARGV[at] and what follows it say, each with its request. Answers where the rest starts.
local function readTiers(count, at)
  local tiers = {}
  for index = 1, count do
    local rule = ruleOf(ARGV[at], ARGV, at + 1)
    local next = at + 2 + rule.size
    if #ARGV < next - 1 then
      local takes = rule.size .. ' parameters, - for a default, and a request'
      error('sluice: the tier ' .. rule.name .. ' takes ' .. takes .. ', got ' .. #ARGV - at, 0)
    end
    tiers[index] = { rule = rule, at = at, request = ARGV[next - 1] }
    at = next
  end
  return tiers, at
end

-- What one tier is asked. Kept with the tier, for the decisions that ask the same.
local function readPart(tier, request)
  if tier.asked == request then
    return tier.part
  end
  tier.asked = request
  local ruleText, isShadow = nil, false
  if string.sub(request, 1, 9) == 'changing:' then
    request, ruleText = string.sub(request, 10), table.concat(ARGV, ' ', tier.at, tier.at + tier.rule.size)
  end
  if string.sub(request, 1, 7) == 'shadow:' then
    request, isShadow = string.sub(request, 8), true
  end
  local cost = tonumber(request)
  local isPlain = cost ~= nil
  cost = cost or tonumber(string.match(request, '^(%w+):blockFor:') or string.match(request, '^reserve:(%d+)'))
  tier.part = {
    rule = tier.rule,
    ruleText = ruleText,
    request = request,
    isShadow = isShadow,
    cost = cost,
    isPlain = isPlain and not ruleText and cost >= 1 and cost <= tier.rule.limit and cost % 1 == 0,
    key = nil,
    value = nil,
    entry = nil,
    state = nil,
    keeps = nil,
  }
  return tier.part
end

local function entryOf(part, nowMs)
  if part.ruleText then
    return readChanging(part.rule, part.ruleText, part.value, nowMs)
  end
  return frame().readEntry(part.rule.timeOf, part.value)
end

-- Decides every tier plainly into reply[at + 1..]. Answers whether all of them passed so, and then has noted what was taken.
local function takePlainly(parts, nowMs, isServerTime, reply, at)
  local last = at + 5 * #parts
  for index, part in ipairs(parts) do
    local allowed
    if part.isPlain then
      local first = at + 5 * index - 4
      allowed, reply[first + 1], reply[first + 2], reply[first + 3], reply[first + 4], reply[last + index], part.state, part.keeps =
        decidePlainly(part.rule, part.value, part.cost + 0.0, nowMs)
      reply[first] = allowed
    end
    if allowed ~= 1 then
      return false
    end
  end
  for index, part in ipairs(parts) do
    note(part.key, part.state, reply[at + 5 * index - 1], part.keeps and isServerTime)
  end
  return true
end

-- Decides every tier into reply[at + 1..] and notes what is taken: all that costs or holds, or none. Answers whether that passed.
local function take(parts, nowMs, isServerTime, reply, at)
  if takePlainly(parts, nowMs, isServerTime, reply, at) then
    return true
  end
  local isRefused = false
  for index, part in ipairs(parts) do
    local last = at + 5 * index
    part.entry = entryOf(part, nowMs)
    reply[last - 4], reply[last - 3], reply[last - 2], reply[last - 1], reply[last] =
      frame().decide(part.rule, part.entry, part.request, nowMs, part.isShadow)
    isRefused = isRefused or (part.cost and not part.isShadow and reply[last - 4] == 0)
  end
  for index, part in ipairs(parts) do
    local last = at + 5 * index
    if isRefused and part.cost and reply[last - 4] == 1 then
      part.entry = entryOf(part, nowMs)
      reply[last - 4], reply[last - 3], reply[last - 2], reply[last - 1], reply[last] =
        frame().judge(part.rule, part.entry, part.cost, nowMs, false)
    end
  end
  for index, part in ipairs(parts) do
    frame().noteEntry(part.key, part.entry)
    reply[at + 5 * #parts + index] = part.entry.timeMs
  end
  return not isRefused
end

-- What a decision is about: the keys from first on, and the requests from ARGV[at] on, or those beside the tiers.
local function readParts(tiers, values, first, at, idKey)
  local parts, seen = {}, {}
  if idKey then
    seen[idKey] = true
  end
  for index, tier in ipairs(tiers) do
    local part, key = readPart(tier, at and ARGV[at + index - 1] or tier.request), KEYS[first + index - 1]
    if seen[key] then
      error('sluice: each tier has a key of its own, got twice ' .. key, 0)
    end
    seen[key], part.key, part.value = true, key, slots[key] and notedValues[slots[key]]
    if part.value == nil then
      part.value = values[first + index - 1]
    end
    parts[index] = part
  end
  return parts
end

-- What an id was first answered with is kept under a key of its own: when that ends, and the reply. Answers nil when it is over.
local function recall(known, count, nowMs)
  local numbers, isAnswer = {}, #known == 8 * (6 * count + 1)
  for at = 1, #known - 7, 8 do
    local number = struct.unpack('<d', known, at)
    isAnswer = isAnswer and number % 1 == 0 and number >= -1 and number <= 4 * EXACT
    numbers[#numbers + 1] = number
  end
  if not isAnswer then
    error(
      'sluice: the key of the id holds something else than an answer for as many tiers, and it was left as it is',
      0
    )
  end
  return table.remove(numbers, 1) > nowMs and numbers or nil
end

-- One decision, or with n* as many over the same tiers, one after the other: what one takes the next sees.
local function decideAll(idText, nowMs, isServerTime)
  local many = string.match(idText, '^(%d+)%*$')
  local times = many and whole('the number of decisions', many, 1, 1000) or 1
  local idMs = many and 0 or whole('idMs', idText, 0, 315619200000)
  local values, keys, reply = readKeys(), idMs > 0 and #KEYS - 1 or #KEYS, {}
  local count = keys / times
  if count < 1 then
    error('sluice: with an idMs the last key is that of the id, and every tier has one before it, got 1 key', 0)
  elseif count % 1 ~= 0 then
    error(string.format('sluice: each decision has as many keys, got %.0f for %.0f decisions', keys, times), 0)
  end
  local known = idMs > 0 and values[#KEYS]
  if known then
    reply = recall(known, count, nowMs)
    if reply then
      return reply
    end
    reply = {}
  end
  local tiers, at = readTiers(count, 3)
  local last = at - 1 + (times - 1) * count
  if #ARGV > last then
    error(string.format('sluice: there are more arguments than %.0f tiers take, got ', count) .. ARGV[last + 1], 0)
  elseif #ARGV < last then
    error(string.format('sluice: %.0f decisions take %.0f arguments, got %.0f', times, last, #ARGV), 0)
  end
  local isAllowed
  for turn = 0, times - 1 do
    local parts =
      readParts(tiers, values, turn * count + 1, turn > 0 and at + (turn - 1) * count, idMs > 0 and KEYS[#KEYS])
    isAllowed = take(parts, nowMs, isServerTime, reply, turn * 6 * count)
  end
  if idMs > 0 and isAllowed then
    local packed = { struct.pack('<d', nowMs + idMs) }
    for index, number in ipairs(reply) do
      packed[index + 1] = struct.pack('<d', number)
    end
    note(KEYS[#KEYS], table.concat(packed), idMs)
  end
  writeAll(isServerTime)
  return reply
end
