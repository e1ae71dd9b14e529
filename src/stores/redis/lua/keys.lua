-- The values of all keys, with one call for all of them.
local function readKeys()
  if #KEYS == 1 then
    return { redis.call('GET', KEYS[1]) }
  elseif #KEYS < 1 or #KEYS > 1000 then
    error('sluice: one call decides 1 to 1000 keys, got ' .. #KEYS, 0)
  end
  local values, missing = redis.call('MGET', (table.unpack or unpack)(KEYS)), {}
  for index, key in ipairs(KEYS) do
    if not values[index] then
      missing[#missing + 1] = key
    end
  end
  -- MGET says of a list or a hash that it is missing, and SET would replace it.
  if #missing > 0 and redis.call('EXISTS', (table.unpack or unpack)(missing)) > 0 then
    error('sluice: a key holds something else than a state of this rule, and it was left as it is', 0)
  end
  return values
end

-- Engines on Lua 5.4 would answer 5.0 as a text.
local function whole64(reply)
  for index, number in ipairs(reply) do
    reply[index] = math.tointeger(number)
  end
  return reply
end
