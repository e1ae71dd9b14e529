-- A state starts with its own time, a whole number. What comes before it starts with another one: a block is -math.huge and two
-- times, and n holds are the number -n - 0.5 and five numbers each. What cannot be one of these is nothing that was written here.
local function readEntry(timeOf, value)
  if not value then
    return { exists = false, changed = false, counted = false, resetAfterMs = 0, state = nil, timeMs = 0 }
  end
  -- With all the fields that every decision sets: a table that grows costs more.
  local entry, at = { exists = true, changed = false, counted = false, resetAfterMs = 0, state = value, timeMs = 0 }, 1
  local mark = #value >= 8 and struct.unpack('<d', value) or 0
  if mark == -math.huge and #value >= 24 then
    local _, blockAtMs, untilMs = struct.unpack('<ddd', value)
    if
      not (blockAtMs % 1 == 0 and blockAtMs >= 0 and untilMs % 1 == 0 and untilMs > blockAtMs and untilMs <= 2 * EXACT)
    then
      error(FOREIGN, 0)
    end
    entry.blockAtMs, entry.untilMs = blockAtMs, untilMs
    at, mark = 25, #value >= 32 and struct.unpack('<d', value, 25) or 0
  end
  local count = -mark - 0.5
  if count >= 1 and count % 1 == 0 and #value >= at + 7 + count * 40 then
    entry.holds = holding().read(value, at, count)
    at = at + 8 + count * 40
  end
  if at > 1 then
    entry.state = at <= #value and value:sub(at) or nil
    entry.asMade = entry.holds and { state = entry.state, holds = entry.holds }
  end
  if entry.state and not timeOf(entry.state) then
    error(FOREIGN, 0)
  end
  return entry
end

-- Notes what is to be kept of an entry if it has changed, and answers what the key then holds instead of value.
local function noteEntry(key, entry, value)
  if not entry.changed then
    return value
  elseif entry.resetAfterMs > 0 then
    local resetAfterMs = entry.resetAfterMs
    value = entry.state
    if entry.blockAtMs or entry.holds or entry.asMade then
      -- Holds that have expired, and a rule that has changed, change what is kept when something is counted, and not before.
      local kept = not entry.counted and entry.asMade or entry
      local block = entry.blockAtMs and struct.pack('<ddd', -math.huge, entry.blockAtMs, entry.untilMs) or ''
      local holds = kept.holds and holding().pack(kept.holds) or ''
      value = (kept.stamp or '') .. block .. holds .. (kept.state or '')
      resetAfterMs = math.max(resetAfterMs, kept.resetAfterMs or 0)
    end
    note(key, value, resetAfterMs)
    return value
  elseif entry.exists then
    note(key, false)
  end
  return false
end
