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
