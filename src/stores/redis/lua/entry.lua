-- A state starts with its own time, which is not negative. What comes before it does: a block is this number and two times, and
-- n holds are the number -n and five numbers each.
local BLOCK = -math.huge

local function readHolds(value, at, count)
  local holds = {}
  for index = 1, count do
    local id, amount, left, takenMs, untilMs = struct.unpack('<ddddd', value, at + 8 + (index - 1) * 40)
    holds[index] = { id = id, amount = amount, left = left, takenMs = takenMs, untilMs = untilMs }
  end
  return holds
end

local function readEntry(isState, value)
  if not value then
    return { exists = false }
  end
  local entry, at = { exists = true }, 1
  local mark = #value >= 8 and struct.unpack('<d', value) or 0
  if mark == BLOCK and #value >= 24 then
    local _
    _, entry.blockAtMs, entry.untilMs = struct.unpack('<ddd', value)
    at = 25
    mark = #value >= 32 and struct.unpack('<d', value, 25) or 0
  end
  if mark < 0 and mark % 1 == 0 and #value >= at + 7 - mark * 40 then
    entry.holds = readHolds(value, at, -mark)
    at = at + 8 - mark * 40
  end
  if at <= #value then
    entry.state = at > 1 and value:sub(at) or value
  end
  if at == 1 or entry.state then
    if not (entry.state and isState(entry.state)) then
      error('sluice: the key holds something else than a state of this rule, and it was left as it is', 0)
    end
  end
  entry.asMade = entry.holds and { state = entry.state, holds = entry.holds }
  return entry
end

local function packHolds(holds)
  local packed = { struct.pack('<d', -#holds) }
  for index, hold in ipairs(holds) do
    packed[index + 1] = struct.pack('<ddddd', hold.id, hold.amount, hold.left, hold.takenMs, hold.untilMs)
  end
  return table.concat(packed)
end

-- A TTL only frees memory, so it may be late. A caller's clock need not run as fast as the server's: a minute longer.
local function writeEntry(key, entry, isServerTime)
  if not entry.changed then
    return
  elseif entry.resetAfterMs > 0 then
    -- Holds that have expired, and a rule that has changed, change what is kept when something is counted, and not before.
    local kept = not entry.counted and entry.asMade or entry
    local value = kept.state
    if entry.blockAtMs or kept.holds or kept.stamp then
      local block = entry.blockAtMs and struct.pack('<ddd', BLOCK, entry.blockAtMs, entry.untilMs) or ''
      value = (kept.stamp or '') .. block .. (kept.holds and packHolds(kept.holds) or '') .. (value or '')
    end
    local ttlMs = isServerTime and entry.resetAfterMs or entry.resetAfterMs + 60000
    redis.call('SET', key, value, 'PX', string.format('%.0f', ttlMs))
  elseif entry.exists then
    redis.call('DEL', key)
  end
end
