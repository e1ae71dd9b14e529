-- sluice token-bucket, version 1: a bucket that refills at a constant rate.
--
-- KEYS[1..n]   what the state of each subject is kept under; on a Cluster all in one slot
-- ARGV[1]      capacity: tokens that fit, whole number >= 1
-- ARGV[2]      refill: tokens that come back in every period, whole number >= 1
-- ARGV[3]      periodMs: length of the period in milliseconds, whole number >= 1
-- ARGV[4]      nowMs: time in milliseconds, whole number >= 0, or -1 for the server's, default -1
-- ARGV[5..4+n] request: of each key a cost, whole number >= 1, or peek:cost, charge:amount, giveBack:amount, block:milliseconds, unblock, reset, default 1
-- ARGV[5+n]    maxDebt: how many tokens a charge may take that are not there, whole number >= 0, default capacity
-- returns      for each key five integers: allowed 0|1, remaining, retryAfterMs (-1: never), resetAfterMs, waitMs (allowed: before going on; refused: left of a block)
-- state        token-bucket@1: time, what is in the bucket in units of token * millisecond

-- Whole numbers above this one cannot be told from their neighbours.
local EXACT = 9007199254740991

-- Lua 5.4 tells whole numbers from others, and its whole numbers overflow: adding 0.0 keeps all of them doubles.
local function whole(what, text, least, most)
  local number = tonumber(text)
  if number and number >= least and number <= (most or EXACT) and number % 1 == 0 then
    return number + 0.0
  end
  local range = most and string.format('from %.0f to %.0f', least, most) or string.format('of at least %.0f', least)
  return error('sluice: ' .. what .. ' must be a whole number ' .. range .. ', got ' .. tostring(text), 0)
end

local function exactly(what, product)
  if product > EXACT then
    error('sluice: ' .. what .. ' must stay below 2^53, got ' .. string.format('%.0f', product), 0)
  end
end

-- The time of the decision, and whether it is the server's own: TIME is read once.
local function clock(text)
  if text and text ~= '-1' then
    return whole('nowMs', text, 0), false
  end
  local time = redis.call('TIME')
  return time[1] * 1000.0 + math.floor(time[2] / 1000), true
end

local function step(capacity, refill, periodMs, maxDebt, state, nowMs, cost, force)
  local full = capacity * periodMs
  local level = full
  if state then
    local atMs, stateLevel = struct.unpack('<dd', state)
    -- Refilling for no longer than it takes to get full keeps the product exact after any absence.
    local refillMs = math.min(math.max(0, nowMs - atMs), math.ceil((full - stateLevel) / refill))
    level = math.min(full, stateLevel + refill * refillMs)
  end
  local units = cost * periodMs
  local retryAfterMs = force and 0 or math.max(0, math.ceil((units - level) / refill))
  local next
  if retryAfterMs == 0 then
    level = math.min(full, math.max(level - units, math.min(level, 0 - maxDebt * periodMs)))
    next = struct.pack('<dd', nowMs, level)
  end
  return retryAfterMs, math.max(0, math.floor(level / periodMs)), math.ceil((full - level) / refill), 0, next
end

-- A state starts with its own time. No time is this one: it marks a block, and what comes after that is the state, if any.
local BLOCK = -math.huge

local function readEntry(isState, value)
  if not value then
    return { exists = false }
  elseif #value >= 24 and struct.unpack('<d', value) == BLOCK then
    local _, blockAtMs, untilMs = struct.unpack('<ddd', value)
    local state = #value > 24 and value:sub(25) or nil
    if not state or isState(state) then
      return { exists = true, state = state, blockAtMs = blockAtMs, untilMs = untilMs }
    end
  elseif isState(value) then
    return { exists = true, state = value }
  end
  return error('sluice: the key holds something else than a state of this rule, and it was left as it is', 0)
end

-- A TTL only frees memory, so it may be late. A caller's clock need not run as fast as the server's: a minute longer.
local function writeEntry(key, entry, isServerTime)
  if not entry.changed then
    return
  elseif entry.resetAfterMs > 0 then
    local value = entry.state
    if entry.blockAtMs then
      value = struct.pack('<ddd', BLOCK, entry.blockAtMs, entry.untilMs) .. (value or '')
    end
    local ttlMs = isServerTime and entry.resetAfterMs or entry.resetAfterMs + 60000
    redis.call('SET', key, value, 'PX', string.format('%.0f', ttlMs))
  elseif entry.exists then
    redis.call('DEL', key)
  end
end

-- How far a key's own time may be ahead of the clock before the clock counts as set back for good.
local MOST_LAG_MS = 60000

local function setBlock(entry, atMs, untilMs)
  entry.changed = entry.changed or entry.blockAtMs ~= atMs
  entry.blockAtMs, entry.untilMs = atMs, untilMs
end

-- The time to decide at. A key's time never runs backwards: a small step back of the clock is waited out at the key's own time.
-- After a large one the entry moves to the clock's time with its level kept, and that is stored even by a refusal or a peek: if
-- it were not, a client that is always refused would start over at every request and never get out.
local function steady(step, entry, nowMs)
  if entry.blockAtMs and entry.blockAtMs - nowMs > MOST_LAG_MS then
    setBlock(entry, nowMs, nowMs + entry.untilMs - entry.blockAtMs)
  end
  local atMs = entry.state and struct.unpack('<d', entry.state) or nowMs
  if atMs - nowMs <= MOST_LAG_MS then
    return math.max(atMs, nowMs)
  end
  local _, _, resetAfterMs, _, moved = step(entry.state, nowMs, 0, true)
  entry.state = resetAfterMs > 0 and moved or nil
  entry.changed = true
  return nowMs
end

-- Takes cost if rule and block allow it and it is to be taken. A refusal changes nothing.
-- Answers allowed, remaining, retryAfterMs, resetAfterMs, waitMs.
local function judge(step, limit, entry, cost, nowMs, take)
  local timeMs = steady(step, entry, nowMs)
  local blockedMs = entry.untilMs and math.max(0, entry.untilMs - nowMs) or 0
  local never = cost > limit
  local retryAfterMs, remaining, resetAfterMs, delayMs, state = step(entry.state, timeMs, never and 0 or cost, false)
  local passes = retryAfterMs == 0
  local allowed = passes and not never and blockedMs == 0
  if allowed and take then
    -- What passes proves that a block is over.
    entry.state, entry.blockAtMs, entry.untilMs, entry.changed = state, nil, nil, true
  elseif passes then
    -- The step has counted a cost that is not taken after all: show the state as it stays.
    local _
    _, remaining, resetAfterMs = step(entry.state, timeMs, 0, true)
  end
  -- Rules count from the key's own time; callers count from the clock's.
  local lagMs = timeMs - nowMs
  resetAfterMs = math.max(blockedMs, resetAfterMs == 0 and 0 or resetAfterMs + lagMs)
  entry.resetAfterMs = resetAfterMs
  if allowed then
    return 1, remaining, 0, resetAfterMs, delayMs
  end
  retryAfterMs = never and -1 or math.max(blockedMs, passes and 0 or retryAfterMs + lagMs)
  return 0, blockedMs > 0 and 0 or remaining, retryAfterMs, resetAfterMs, blockedMs
end

-- What a request that is no plain cost asks for. Answers the cost to look at afterwards.
local function prepare(step, entry, request, nowMs)
  -- Adds cost, negative to give back, whatever is left.
  local function adjust(cost)
    local timeMs = steady(step, entry, nowMs)
    local _, _, resetAfterMs, _, state = step(entry.state, timeMs, cost, true)
    entry.changed = entry.changed or entry.state ~= nil or resetAfterMs > 0
    entry.state = resetAfterMs > 0 and state or nil
    if entry.untilMs and entry.untilMs <= nowMs then
      setBlock(entry, nil, nil)
    end
  end

  local operation, amount = string.match(request, '^(%a+):(%d+)$')
  operation = operation or request
  if operation == 'peek' then
    return whole('the cost of a peek', amount or 1, 0)
  elseif operation == 'charge' then
    adjust(whole('the amount of a charge', amount or 1, 1))
  elseif operation == 'giveBack' then
    adjust(-whole('the amount of a giveBack', amount or 1, 1))
  elseif operation == 'block' then
    entry.changed = true
    -- Ten calendar years at most.
    setBlock(entry, nowMs, nowMs + whole('the milliseconds of a block', amount, 1, 315619200000))
  elseif request == 'unblock' then
    setBlock(entry, nil, nil)
  elseif request == 'reset' then
    setBlock(entry, nil, nil)
    entry.changed, entry.state = entry.changed or entry.state ~= nil, nil
  else
    error('sluice: a request is a cost or peek, charge, giveBack, block, unblock or reset, got ' .. request, 0)
  end
  return 1
end

local function decide(step, limit, entry, request, nowMs)
  local cost = tonumber(request)
  if cost then
    return judge(step, limit, entry, whole('the cost', cost, 1), nowMs, true)
  end
  return judge(step, limit, entry, prepare(step, entry, request, nowMs), nowMs, false)
end

-- Reads each key once, decides in order, and then writes: when anything is wrong, nothing has been written.
local function decideMany(step, isState, limit, nowMs, isServerTime, firstRequest)
  if #KEYS > 1000 then
    error('sluice: one call decides at most 1000 keys, got ' .. #KEYS, 0)
  end
  local values = redis.call('MGET', (table.unpack or unpack)(KEYS))
  local entries, missing, reply = {}, {}, {}
  for index, key in ipairs(KEYS) do
    if not values[index] then
      missing[#missing + 1] = key
    end
    entries[key] = entries[key] or readEntry(isState, values[index])
  end
  -- MGET says of a list or a hash that it is missing, and SET would replace it.
  if #missing > 0 and redis.call('EXISTS', (table.unpack or unpack)(missing)) > 0 then
    error('sluice: a key holds something else than a state of this rule, and it was left as it is', 0)
  end
  for index, key in ipairs(KEYS) do
    local request, at = ARGV[firstRequest + index - 1] or '1', 5 * index
    reply[at - 4], reply[at - 3], reply[at - 2], reply[at - 1], reply[at] =
      decide(step, limit, entries[key], request, nowMs)
  end
  for key, entry in pairs(entries) do
    writeEntry(key, entry, isServerTime)
  end
  return reply
end

local function decideAll(step, isState, limit, nowMs, isServerTime, firstRequest)
  local reply
  if #KEYS == 1 then
    local entry = readEntry(isState, redis.call('GET', KEYS[1]))
    reply = { decide(step, limit, entry, ARGV[firstRequest] or '1', nowMs) }
    writeEntry(KEYS[1], entry, isServerTime)
  else
    reply = decideMany(step, isState, limit, nowMs, isServerTime, firstRequest)
  end
  -- Engines on Lua 5.4 would answer 5.0 as a text.
  if math.tointeger then
    for index, number in ipairs(reply) do
      reply[index] = math.tointeger(number)
    end
  end
  return reply
end

local capacity = whole('capacity', ARGV[1], 1)
local refill = whole('refill', ARGV[2], 1)
local periodMs = whole('periodMs', ARGV[3], 1)
local maxDebt = whole('maxDebt', ARGV[5 + #KEYS] or capacity, 0)
exactly('(capacity + maxDebt) * periodMs', (capacity + maxDebt) * periodMs)
local nowMs, isServerTime = clock(ARGV[4])

local function isState(state)
  return #state == 16
end

local function stepWithParameters(state, timeMs, cost, force)
  return step(capacity, refill, periodMs, maxDebt, state, timeMs, cost, force)
end

return decideAll(stepWithParameters, isState, capacity, nowMs, isServerTime, 5)
