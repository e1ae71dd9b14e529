local nowMs, decisions = tonumber(ARGV[1]), tonumber(ARGV[2])
local count, tiers, at, hasTimelines = decisions and #KEYS / decisions or 0, {}, 3, false
local isRight = nowMs and nowMs % 1 == 0 and nowMs >= -1 and nowMs <= EXACT and count % 1 == 0 and count >= 1
for index = 1, isRight and count or 0 do
  local name = ARGV[at]
  -- @arguments
  local blockMs = tonumber(ARGV[at - 1])
  isRight = isRight and tiers[index] and blockMs and blockMs % 1 == 0 and blockMs >= 0 and blockMs <= EXACT
  if not isRight then
    break
  end
  tiers[index].blockMs = blockMs
end
local first, isShared = at - 1, #ARGV == at - 1 + count
if not (isRight and (isShared or #ARGV == at - 1 + #KEYS)) then
  error('sluice: tiers takes nowMs d tiers costs as its first lines say, got ' .. table.concat(ARGV, ' '), 0)
end
local isServerTime = nowMs == -1
if isServerTime then
  local time = redis.call('TIME')
  nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end

local values, missing, lost = hasTimelines and {} or redis.call('MGET', (table.unpack or unpack)(KEYS)), {}, {}
for place = 1, hasTimelines and #KEYS or 0 do
  -- What a short timeline has, and no more of a long one. Nothing is an empty text.
  local last = tiers[(place - 1) % count + 1].isTimeline and '4159' or '-1'
  local value = redis.pcall('GETRANGE', KEYS[place], '0', last)
  values[place] = type(value) == 'string' and value ~= '' and value
end
for place = 1, #KEYS do
  if not values[place] then
    missing[#missing + 1] = KEYS[place]
  end
end
-- To MGET a key of another type is missing.
if #missing > 0 and redis.call('EXISTS', (table.unpack or unpack)(missing)) > 0 then
  for place = 1, #missing do
    local key = missing[place]
    lost[key] = redis.call('EXISTS', key) == 1
  end
end

-- What is to be written once everything has been decided, by key: later decisions of the same call see it.
local slots, slotKeys, slotValues, slotTtls, slotCount = {}, {}, {}, {}, 0
local reply, n, newValues, newTtls =
  { nil, nil, nil, nil, nil, nil, nil, nil, nil }, 0, { nil, nil, nil }, { nil, nil, nil }
for decision = 0, decisions - 1 do
  local start, base, takes, isKnown, isDone = n, decision * count, true, true, false
  -- A first time to take from all; and when one refuses again, to take from none.
  while isKnown and not isDone do
    n, isDone = start, true
    for index = 1, count do
      local key, tier, slot = KEYS[base + index], tiers[index], slots[KEYS[base + index]]
      local value, cost =
        slot and slotValues[slot] or values[base + index], tonumber(ARGV[first + (isShared and 0 or base) + index]) or 0
      local amount = cost < 0 and -cost or cost
      isKnown = not lost[key] and amount >= 1 and amount % 1 == 0
      -- A block comes before the state: minus infinity, when it began, when it ends. It stays until something passes.
      local isStored, hasBlock, beganMs, untilMs, mark = value, false, 0, 0, nil
      if value and #value >= 24 and string.byte(value, 8) == 255 then
        mark, beganMs, untilMs = struct.unpack('<ddd', value)
        hasBlock = mark == -math.huge and beganMs % 1 + untilMs % 1 == 0 and untilMs <= 2 * EXACT
        hasBlock = hasBlock and beganMs >= 0 and beganMs <= nowMs and beganMs < untilMs
        isStored, value = not hasBlock or #value > 24, string.sub(value, hasBlock and 25 or 1)
      end
      -- Grants come then: their mark, what they lend, when the first and the last ends, when the key is fresh, and 24 bytes of each.
      local front, lent, lastMs, freshMs = nil, 0, 0, 0
      if isStored and #value >= 64 and string.byte(value, 8) > 127 then
        local grants, sum, firstMs, endMs, atMs = struct.unpack('<ddddd', value)
        if grants % 1 == 0.25 and #value >= 22 - 24 * grants and firstMs > nowMs and endMs <= nowMs + 60000 then
          front, lent, lastMs, freshMs, value =
            string.sub(value, 1, 22 - 24 * grants), sum, endMs, atMs, string.sub(value, 23 - 24 * grants)
          isStored = value ~= ''
        end
      end
      local blockedMs = hasBlock and untilMs > nowMs and untilMs - nowMs or 0
      local take, stored, keepsTtl = takes and cost > 0 and blockedMs == 0, nil, false
      local isPassing, left, resetMs, waitMs, delayedMs = false, 0, 0, 0, 0
      -- @tiers
      resetMs = front and math.max(resetMs, freshMs - nowMs) or resetMs
      if not isKnown then
        break
      elseif isPassing and blockedMs == 0 then
        newValues[index] = take and (front and front .. stored or stored)
        newTtls[index] = (front or not (keepsTtl and isServerTime)) and resetMs
        if delayedMs > 0 then
          n = n + 1
          reply[n] = -3 - delayedMs
        end
        reply[n + 1], reply[n + 2], reply[n + 3], n = left, resetMs, waitMs, n + 3
      else
        if takes and cost > 0 then
          takes, isDone = false, false
          break
        end
        local status = blockedMs > 0 and -2 or -1
        newValues[index] = false
        if blockedMs > 0 then
          waitMs = isPassing and blockedMs or math.max(blockedMs, waitMs)
          left, resetMs = blockedMs, math.max(blockedMs, resetMs)
        elseif cost > 0 and tier.blockMs > 0 and not hasBlock then
          waitMs = math.max(tier.blockMs, waitMs)
          left, resetMs = 0, math.max(waitMs, resetMs)
          newValues[index] = struct.pack('<ddd', -math.huge, nowMs, nowMs + waitMs) .. (front or '') .. (value or '')
          newTtls[index] = resetMs
        end
        reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], n = status, left, resetMs, waitMs, n + 4
      end
    end
  end
  if isKnown then
    for index = 1, count do
      local key, value = KEYS[base + index], newValues[index]
      if value then
        local slot = slots[key]
        if not slot then
          slot = slotCount + 1
          slotCount, slots[key], slotKeys[slot], slotTtls[slot] = slot, slot, key, newTtls[index]
        end
        slotValues[slot], slotTtls[slot] = value, newTtls[index] or slotTtls[slot]
      end
    end
  else
    -- Nothing of it is decided; and what comes later on its keys has to be decided later.
    n = start
    for index = 1, count do
      reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], n = -3, 0, 0, 0, n + 4
      lost[KEYS[base + index]] = true
    end
  end
end

for slot = 1, slotCount do
  local key, ttlMs = slotKeys[slot], slotTtls[slot]
  if ttlMs then
    local endMs = isServerTime and ttlMs or ttlMs + 60000
    redis.call('SET', key, slotValues[slot], 'PX', math.tointeger and math.tointeger(endMs) or endMs)
  else
    redis.call('SET', key, slotValues[slot], 'KEEPTTL')
  end
end
for index = n + 1, #reply do
  reply[index] = nil
end
for index = 1, math.tointeger and n or 0 do
  reply[index] = math.tointeger(reply[index]) -- Engines on Lua 5.4 would answer 5.0 as a text.
end
return reply
