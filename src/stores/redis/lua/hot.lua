-- @arguments
local time, reply, n, lost = nowMs == -1 and redis.call('TIME'), { nil, nil, nil, nil }, 0, nil
nowMs = time and time[1] * 1000 + time[2] / 1000 or nowMs
nowMs = nowMs - nowMs % 1
-- @setup
-- @get
for index = 1, #KEYS do
  local key, text, first = KEYS[index], ARGV[FIRST + index] or shared, n
  -- @value
  local isNew, times, cost = not value, 1, text == 1 and 1 or tonumber(text)
  if not cost then
    times, cost = string.match(text, '^(%d%d?%d?%d?)%*(%-?%d+)$')
    times, cost = tonumber(times) or 1, tonumber(cost) or 0
  end
  local amount = cost < 0 and -cost or cost
  -- To MGET a key of another type is missing. A peek asks; what takes sets with NX.
  local isKnown = not isNew or cost > 0 or isMissing(key)
  isKnown = isKnown and key ~= lost and amount >= 1 and amount <= limit and amount % 1 == 0
  -- A block comes before the state: minus infinity, when it began, when it ends. It stays until something passes.
  local isStored, hasBlock, mark, beganMs, untilMs, isTaken, ttlMs = value, false, 0, 0, 0, false, nil
  local front, lent, firstMs, lastMs, freshMs = nil, 0, 0, 0, 0
  if value and not isPlain(value) and #value >= 24 then
    mark, beganMs, untilMs = struct.unpack('<ddd', value)
    hasBlock = mark == -math.huge and beganMs % 1 + untilMs % 1 == 0 and untilMs <= 2 * EXACT
    hasBlock = hasBlock and beganMs >= 0 and beganMs <= nowMs and beganMs < untilMs
    isStored, value = not hasBlock or #value > 24, string.sub(value, hasBlock and 25 or 1)
  end
  -- Then grants: their mark, what they lend, when the first and the last ends and the key is fresh, and 24 bytes of each.
  if isStored and #value >= 64 and string.byte(value, 8) > 127 then
    mark, lent, firstMs, lastMs, freshMs = struct.unpack('<ddddd', value)
    isKnown = isKnown and mark % 1 == 0.25 and #value >= 22 - 24 * mark and firstMs > nowMs and lastMs <= nowMs + 60000
    front = isKnown and string.sub(value, 1, 22 - 24 * mark)
    isStored, value = front and #value > #front, front and string.sub(value, #front + 1)
  end
  isKnown = isKnown and (not isStored or isPlain(value))
  -- @read
  for _ = 1, isKnown and times or 0 do
    local blockedMs = hasBlock and untilMs > nowMs and untilMs - nowMs or 0
    local take = cost > 0 and blockedMs == 0
    -- @step
    resetAfterMs = front and math.max(resetAfterMs, freshMs - nowMs) or resetAfterMs
    if passes and blockedMs == 0 then
      isTaken, hasBlock, ttlMs = take or isTaken, hasBlock and not take, take and resetAfterMs or ttlMs
      -- @allowed
    else
      if front and not passes then
        -- @late
      end
      local status = blockedMs > 0 and -2 or -1
      if blockedMs > 0 then
        laterMs = passes and blockedMs or math.max(blockedMs, laterMs)
        remaining, resetAfterMs = blockedMs, math.max(blockedMs, resetAfterMs)
      elseif take and blockMs > 0 and not hasBlock then
        laterMs = math.max(blockMs, laterMs)
        remaining, resetAfterMs = 0, math.max(laterMs, resetAfterMs)
        hasBlock, beganMs, untilMs, ttlMs = true, nowMs, nowMs + laterMs, resetAfterMs
      end
      reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], n = status, remaining, resetAfterMs, laterMs, n + 4
    end
  end
  if isKnown and ttlMs then
    -- @set
  end
  for turn = 1, isKnown and 0 or times do
    n, lost = first + 4 * turn, key
    reply[n - 3], reply[n - 2], reply[n - 1], reply[n] = -3, 0, 0, 0
  end
end
for index = 1, math.tointeger and n or 0 do
  reply[index] = math.tointeger(reply[index]) -- Engines on Lua 5.4 would answer 5.0 as a text.
end
return reply
