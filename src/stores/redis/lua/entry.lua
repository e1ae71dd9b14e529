-- A state starts with its own time. No time is this one: it marks a block, and what comes after that is the state, if any.
local BLOCK = -math.huge

local function readEntry(value)
  if not value then
    return { exists = false }
  end
  if #value < 16 or #value % 8 ~= 0 then
    return error('sluice: the key holds something else than a state, and it was left as it is', 0)
  end
  if struct.unpack('<d', value) ~= BLOCK then
    return { exists = true, state = value }
  end
  local _, blockAtMs, untilMs = struct.unpack('<ddd', value)
  return { exists = true, blockAtMs = blockAtMs, untilMs = untilMs, state = #value > 24 and value:sub(25) or nil }
end

local function writeEntry(entry)
  if not entry.blockAtMs then
    return entry.state
  end
  return struct.pack('<ddd', BLOCK, entry.blockAtMs, entry.untilMs) .. (entry.state or '')
end

local function setState(entry, state, resetAfterMs)
  entry.state = resetAfterMs > 0 and state or nil
  entry.changed = true
end

local function setBlock(entry, atMs, untilMs)
  entry.changed = entry.changed or entry.blockAtMs ~= atMs or entry.untilMs ~= untilMs
  entry.blockAtMs, entry.untilMs = atMs, untilMs
end
