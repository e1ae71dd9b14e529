-- What is to be written once everything has been decided, by key: later decisions of the same call see it. False is a key to forget.
local notedKeys, notedValues, notedTtls, slots, count = {}, {}, {}, {}, 0

-- With keeps, the key already ends when it has to.
local function note(key, value, ttlMs, keeps)
  local slot = slots[key]
  if not slot then
    slot = count + 1
    count, slots[key], notedKeys[slot], notedTtls[slot] = slot, slot, key, keeps and 'KEEPTTL' or ttlMs
  elseif not keeps then
    notedTtls[slot] = ttlMs
  end
  notedValues[slot] = value
end

-- A TTL only frees memory, so it may be late. A caller's clock need not run as fast as the server's: a minute longer.
local function writeAll(isServerTime)
  local call, laterMs, lastMs, ttlText = redis.call, isServerTime and 0 or 60000, nil, nil
  for slot = 1, count do
    local key, value, ttlMs = notedKeys[slot], notedValues[slot], notedTtls[slot]
    if not value then
      call('DEL', key)
    elseif ttlMs == 'KEEPTTL' then
      call('SET', key, value, ttlMs)
    else
      -- Windows that end at the same time make the same text.
      if ttlMs ~= lastMs then
        lastMs, ttlText = ttlMs, string.format('%.0f', ttlMs + laterMs)
      end
      call('SET', key, value, 'PX', ttlText)
    end
  end
end
