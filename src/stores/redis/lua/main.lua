-- What a request that is no plain cost asks for. Answers the cost to look at afterwards.
local function prepare(step, entry, request, nowMs)
  local operation, amount = string.match(request, '^(%a+):?(%d*)$')
  if operation == 'peek' then
    return whole('the cost of a peek', amount == '' and 1 or amount, 0)
  elseif operation == 'charge' then
    adjust(step, entry, whole('the amount of a charge', amount == '' and 1 or amount, 1), nowMs)
  elseif operation == 'giveBack' then
    adjust(step, entry, -whole('the amount of a giveBack', amount == '' and 1 or amount, 1), nowMs)
  elseif operation == 'block' then
    setBlock(entry, nowMs, nowMs + whole('the milliseconds of a block', amount, 1))
  elseif operation == 'unblock' then
    setBlock(entry, nil, nil)
  elseif operation == 'reset' then
    setBlock(entry, nil, nil)
    entry.changed, entry.state = entry.changed or entry.state ~= nil, nil
  else
    return error('sluice: a request is a cost or peek, charge, giveBack, block, unblock or reset, got ' .. request, 0)
  end
  return 1
end

-- One call reads each key once, decides in order, and then writes: when anything is wrong, nothing has been written.
local function readEntries()
  if #KEYS == 1 then
    return { [KEYS[1]] = readEntry(redis.call('GET', KEYS[1])) }
  end
  local values = redis.call('MGET', (table.unpack or unpack)(KEYS))
  local entries, missing = {}, {}
  for index, key in ipairs(KEYS) do
    if not values[index] then
      missing[#missing + 1] = key
    end
    entries[key] = entries[key] or readEntry(values[index])
  end
  -- MGET says of a list or a hash that it is missing, and SET would replace it.
  if #missing > 0 and redis.call('EXISTS', (table.unpack or unpack)(missing)) > 0 then
    error('sluice: a key holds something else than a state, and it was left as it is', 0)
  end
  return entries
end

-- A TTL only frees memory, so it may be late. A caller's clock need not run as fast as the server's: a minute longer.
local function writeEntries(entries, isServerTime)
  for key, entry in pairs(entries) do
    if entry.changed and entry.resetAfterMs > 0 then
      local ttlMs = entry.resetAfterMs + (isServerTime and 0 or 60000)
      redis.call('SET', key, writeEntry(entry), 'PX', string.format('%.0f', ttlMs))
    elseif entry.changed and entry.exists then
      redis.call('DEL', key)
    end
  end
end

local function decideAll(step, limit, nowMs, isServerTime, firstRequest)
  local entries, reply = readEntries(), {}
  for index, key in ipairs(KEYS) do
    local entry = entries[key]
    local request = ARGV[firstRequest + index - 1] or '1'
    local cost = tonumber(request)
    local take = cost ~= nil
    cost = take and whole('the cost', cost, 1) or prepare(step, entry, request, nowMs)
    local at = 5 * index
    reply[at - 4], reply[at - 3], reply[at - 2], reply[at - 1], reply[at] = judge(step, limit, entry, cost, nowMs, take)
  end
  writeEntries(entries, isServerTime)
  -- Engines on Lua 5.4 would answer 5.0 as a text.
  if math.tointeger then
    for index, number in ipairs(reply) do
      reply[index] = math.tointeger(number)
    end
  end
  return reply
end
