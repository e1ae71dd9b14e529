-- What is to be written once everything has been decided, by key: later decisions of the same call see it. False is a key to forget.
local notedKeys, notedValues, notedTtls, slots, count = {}, {}, {}, {}, 0

local function note(key, value, ttlMs)
  local slot = slots[key]
  if not slot then
    slot = count + 1
    count, slots[key], notedKeys[slot] = slot, slot, key
  end
  notedValues[slot], notedTtls[slot] = value, ttlMs
end

-- A TTL only frees memory, so it may be late. A caller's clock need not run as fast as the server's: a minute longer.
local function writeAll(isServerTime)
  local call, integer, laterMs = redis.call, math.tointeger, isServerTime and 0 or 60000
  for slot = 1, count do
    local key, value = notedKeys[slot], notedValues[slot]
    if value then
      local ttlMs = notedTtls[slot] + laterMs
      -- Numbers reach commands in full, but on Lua 5.4 as 5.0 unless they are integers.
      call('SET', key, value, 'PX', integer and integer(ttlMs) or ttlMs)
    else
      call('DEL', key)
    end
  end
end
