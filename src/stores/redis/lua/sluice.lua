-- Ten calendar years.
local LONGEST_MS = 315619200000
-- How far a key's own time may be ahead of the clock before the clock counts as set back for good.
local MOST_LAG_MS = 60000
-- The most holds of one key at once.
local MOST_HOLDS = 1000
-- The most grants of one key at once, the shortest that is worth its while, and the longest. An end that is further ahead than that is from
-- before the clock was set back.
local MOST_GRANTS, LEAST_GRANT_MS, LONGEST_GRANT_MS = 256, 4, 60000
-- How many runs of a long timeline one call gives holds back to that have expired. Those of more take further calls.
local MOST_CHANGED_RUNS = 4
-- Where more holds than that are put into a new order, because the clock was set back, the decision takes a further call.
local MOST_PULLED_HOLDS = 500
local FOREIGN = 'sluice: the key holds something else than a state of this rule, and it was left as it is'

local function isWhole(number, least, most)
  return number % 1 == 0 and number >= least and number <= (most or EXACT)
end

-- Stops where a key has what was not written here.
local function assertOwn(isOwn)
  if not isOwn then
    error(FOREIGN, 0)
  end
end

-- Lua 5.4 tells whole numbers from others, and its whole numbers overflow: adding 0.0 keeps all of them doubles.
local function whole(what, text, least, most)
  local number = tonumber(text)
  if number and isWhole(number, least, most) then
    return number + 0.0
  end
  local range = most and string.format('from %.0f to %.0f', least, most) or string.format('of at least %.0f', least)
  return error('sluice: ' .. what .. ' must be a whole number ' .. range .. ', got ' .. tostring(text), 0)
end

local function choice(what, text, first, second)
  if text == first or text == second then
    return text
  end
  return error('sluice: ' .. what .. ' must be ' .. first .. ' or ' .. second .. ', got ' .. tostring(text), 0)
end

local function exactly(what, product)
  if product > EXACT then
    error('sluice: ' .. what .. ' must stay below 2^53, got ' .. string.format('%.0f', product), 0)
  end
end

-- The count after cost: never below zero, and above ceiling only if it already was.
local function addBounded(used, cost, ceiling)
  if cost < 0 then
    return math.max(0, used + cost)
  end
  return math.max(used, math.min(used + cost, ceiling))
end

-- Many numbers of a text. By the thousand: one by one takes longer.
local function readNumbers(text, at, count)
  local size = math.min(1000, count)
  local numbers = { struct.unpack('<' .. string.rep('d', size), text, at) }
  numbers[size + 1] = nil
  for first = 1000, count - 1, 1000 do
    size = math.min(1000, count - first)
    local read = { struct.unpack('<' .. string.rep('d', size), text, at + 8 * first) }
    for place = 1, size do
      numbers[first + place] = read[place]
    end
  end
  return numbers
end

local function packNumbers(numbers, count)
  local text = ''
  for first = 1, count, 1000 do
    local last = math.min(first + 999, count)
    text = text .. struct.pack('<' .. string.rep('d', last - first + 1), (table.unpack or unpack)(numbers, first, last))
  end
  return text
end

-- @rules

-- @step

-- @hold-columns

-- @holds

-- @grants

-- @decide

-- @operation

-- @stored-key

-- What an id was first answered with is kept under a key of its own: when that ends, and the reply. Answers nothing when it is over.
local function loadReply(key, count, nowMs)
  local known, numbers, at, isRight = redis.call('GET', key), {}, 2, true
  if not known then
    return nil
  end
  for place = 1, #known - 7, 8 do
    numbers[#numbers + 1] = struct.unpack('<d', known, place)
    isRight = isRight and isWhole(numbers[#numbers], -EXACT, 4 * EXACT)
  end
  for _ = 1, count do
    at = at + ((numbers[at] or 0) < 0 and 4 or 3)
    isRight = isRight and at <= #numbers + 1 and numbers[at - 2] >= 0 and numbers[at - 1] >= -1
  end
  if not (isRight and at == #numbers + 1 and #known == 8 * #numbers and numbers[1] >= 0) then
    local held = 'sluice: the key of the id holds something else than an answer for as many tiers'
    error(held .. ', and it was left as it is', 0)
  end
  return table.remove(numbers, 1) > nowMs and numbers or nil
end

-- The reply to requests of which none is decided: they are to be sent again.
local function handBack(tiers, decisions, first, hasTimes)
  local reply = {}
  for place = 0, #tiers * decisions - 1 do
    local request = place < #tiers and tiers[place + 1].request or ARGV[first + place - #tiers]
    local size = 3 + (readOperation(request).type == 'grant' and 4 or 0) + (hasTimes and 1 or 0)
    reply[#reply + 1] = -3
    for _ = 1, size do
      reply[#reply + 1] = 0
    end
  end
  return reply
end

-- The rules of the tiers, as ARGV[3] and what follows it say, each with its first operation. Answers where the rest starts.
local function readTiers(count)
  local tiers, at = {}, 3
  for index = 1, count do
    local rule = readRule(ARGV[at], ARGV, at + 1)
    local next = at + 2 + rule.size
    if #ARGV < next - 1 then
      local takes = rule.size .. ' parameters, - for a default, and a request'
      error('sluice: the tier ' .. rule.name .. ' takes ' .. takes .. ', got ' .. #ARGV - at, 0)
    end
    rule.text = table.concat(ARGV, ' ', at, next - 2)
    tiers[index] = { rule = rule, request = ARGV[next - 1] }
    at = next
  end
  return tiers, at
end

if #KEYS < 1 or #KEYS > 1000 then
  error('sluice: KEYS must have 1 to 1000 keys, got ' .. #KEYS, 0)
end
local nowMs, isServerTime = 0, ARGV[1] == nil or ARGV[1] == '-1'
if isServerTime then
  local time = redis.call('TIME')
  nowMs = time[1] * 1000.0 + math.floor(time[2] / 1000)
else
  nowMs = whole('nowMs', ARGV[1], 0)
end
local many, sign = string.match(ARGV[2] or '', '^(%d+)([*@])$')
local decisions = many and whole('the number of decisions', many, 1, 1000) or 1
local idMs = many and 0 or whole('idMs', ARGV[2] or '0', 0, LONGEST_MS)
local keys = idMs > 0 and #KEYS - 1 or #KEYS
local count = keys / decisions
if count < 1 then
  error('sluice: with idMs, KEYS must have a key for each tier and then the key of the id, got 1 key', 0)
elseif count % 1 ~= 0 then
  error(string.format('sluice: each decision must have as many keys, got %.0f for %.0f decisions', keys, decisions), 0)
end
local reply = idMs > 0 and loadReply(KEYS[#KEYS], count, nowMs)
local isKnown = reply and true or false
local tiers, rest = {}, 0
if not isKnown then
  reply = {}
  tiers, rest = readTiers(count)
  local last = rest - 1 + (decisions - 1) * count
  if #ARGV > last then
    error(string.format('sluice: %.0f tiers take fewer arguments, remove those from ', count) .. ARGV[last + 1], 0)
  elseif #ARGV < last then
    error(string.format('sluice: %.0f decisions take %.0f arguments, got %.0f', decisions, last, #ARGV), 0)
  end
end

-- Every decision sees what those before it have taken. All is written at the end: when anything is wrong, nothing has been written.
local kept, operations, written, n, isRefused = {}, {}, {}, 0, false
for decision = 0, isKnown and -1 or decisions - 1 do
  local parts, seen = {}, { [idMs > 0 and KEYS[#KEYS] or 0] = true }
  isRefused = false
  for index, tier in ipairs(tiers) do
    local key = KEYS[decision * count + index]
    local request = decision == 0 and tier.request or ARGV[rest - 1 + (decision - 1) * count + index]
    local operation = operations[request] or readOperation(request)
    operations[request] = operation
    if seen[key] then
      error('sluice: each tier must have its own key, got twice ' .. key, 0)
    end
    seen[key] = true
    if idMs > 0 and operation.type == 'grant' then
      error('sluice: a grant is of one request, and it has no id', 0)
    end
    kept[key] = kept[key] or readKey(key, tier.rule, operation.isChanging)
    local entry = openEntry(tier.rule, kept[key], nowMs)
    if entry.isUnfinished then
      keepUnfinished(key, kept[key], entry, operation.isChanging)
      return handBack(tiers, decisions, rest, sign == '@')
    end
    local part = { key = key, tier = tier, operation = operation, entry = entry }
    part.allowed, part.remaining, part.resetAfterMs, part.laterMs, part.waitMs =
      decide(tier.rule, part.entry, operation, nowMs)
    isRefused = isRefused or (operation.isTaking and not operation.isShadow and not part.allowed)
    parts[index] = part
  end
  for _, part in ipairs(parts) do
    local key, rule, operation = part.key, part.tier.rule, part.operation
    if isRefused and operation.isTaking and part.allowed then
      -- All that is to be taken or none.
      part.entry = openEntry(rule, kept[key], nowMs)
      endEarlier(rule, part.entry, operation, nowMs)
      part.allowed, part.remaining, part.resetAfterMs, part.laterMs, part.waitMs =
        consume(rule, part.entry, operation.amount, nowMs, false)
      describeGrant(part.entry)
    end
    if part.entry.changed then
      local before = kept[key]
      kept[key] = closeEntry(rule, part.entry)
      if not before.isWritten and (before.exists or kept[key].exists) then
        written[#written + 1] = { key = key, rule = rule, isChanging = operation.isChanging }
      end
      kept[key].isWritten = before.isWritten or before.exists or kept[key].exists
    end
    if not part.allowed then
      local isBlocked = part.waitMs > 0
      reply[n + 1], reply[n + 2] = isBlocked and -2 or -1, isBlocked and part.waitMs or part.remaining
      n = n + 2
    else
      if part.waitMs > 0 then
        n = n + 1
        reply[n] = -3 - part.waitMs
      end
      n = n + 1
      reply[n] = part.remaining
    end
    reply[n + 1], reply[n + 2] = part.resetAfterMs, part.laterMs
    n = n + 2
    if operation.type == 'grant' then
      local entry = part.entry
      reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = entry.units, entry.lastsMs, entry.live, entry.endsMs
      n = n + 4
    end
    if sign == '@' then
      n = n + 1
      reply[n] = part.entry.timeMs
    end
  end
end
for _, one in ipairs(written) do
  writeKey(one.key, one.rule, kept[one.key], one.isChanging, isServerTime)
end
if idMs > 0 and not isKnown and not isRefused then
  local packed = { struct.pack('<d', nowMs + idMs) }
  for index, number in ipairs(reply) do
    packed[index + 1] = struct.pack('<d', number)
  end
  local key, ttlMs = KEYS[#KEYS], isServerTime and idMs or idMs + 60000
  redis.call('SET', key, table.concat(packed), 'PX', string.format('%.0f', ttlMs))
end
for index = 1, math.tointeger and #reply or 0 do
  reply[index] = math.tointeger(reply[index]) -- Engines on Lua 5.4 would answer 5.0 as a text.
end
return reply
