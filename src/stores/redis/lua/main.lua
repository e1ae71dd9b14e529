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
