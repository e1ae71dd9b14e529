-- A state starts with its own time; a value that starts with a negative number holds a block, and a state after it.
local function readEntry(value)
  if not value then
    return { exists = false }
  end
  if #value < 16 or #value % 8 ~= 0 then
    return error('sluice: the key holds something else than a state, and it was left as it is', 0)
  end
  local firstMs, untilMs = struct.unpack('<dd', value)
  if firstMs >= 0 then
    return { exists = true, state = value }
  end
  return { exists = true, blockAtMs = -1 - firstMs, untilMs = untilMs, state = #value > 16 and value:sub(17) or nil }
end

local function writeEntry(entry)
  if not entry.blockAtMs then
    return entry.state
  end
  return struct.pack('<dd', -1 - entry.blockAtMs, entry.untilMs) .. (entry.state or '')
end

local function setState(entry, state, resetAfterMs)
  entry.state = resetAfterMs > 0 and state or nil
  entry.changed = true
end

local function setBlock(entry, atMs, untilMs)
  entry.changed = entry.changed or entry.blockAtMs ~= atMs or entry.untilMs ~= untilMs
  entry.blockAtMs, entry.untilMs = atMs, untilMs
end
