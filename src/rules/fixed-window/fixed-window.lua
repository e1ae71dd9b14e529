-- fixed-window: counts inside windows that do not overlap.
--
-- limit     requests per window, whole number >= 1
-- windowMs  length of a window in milliseconds, whole number >= 1
-- anchor    windows start at multiples of windowMs or with a key's first request: clock or first-hit, default clock
-- maxDebt   how far a charge may go beyond the limit, whole number >= 0, default limit
-- holds     dated
--
-- plain #value == 24
-- full  windowMs, anchor, maxDebt, prefetches = true, slotMs = windowMs: FixedWindow
-- state fixed-window@1: start of the window, count, length of the window
local function readFixedWindow(value, at)
  if #value - at == 23 then
    local atMs, count, windowMs = struct.unpack('<ddd', value, at)
    if isWhole(atMs, 0) and isWhole(count, 0, 2 * EXACT) and isWhole(windowMs, 1) then
      return { atMs = atMs, count = count, windowMs = windowMs }
    end
  end
end

local function writeFixedWindow(state)
  return struct.pack('<ddd', state.atMs, state.count, state.windowMs)
end

local function stepFixedWindow(rule, state, nowMs, cost, force, takenMs)
  local limit, windowMs, atMs, count, isLive = rule.limit, rule.windowMs, nil, 0, false
  if state then
    atMs, isLive = state.atMs, nowMs < state.atMs + windowMs
    count = isLive and state.count or 0
  end
  if not isLive or nowMs < atMs then
    atMs = rule.anchor == 'clock' and nowMs - nowMs % windowMs or nowMs
  end
  local leftMs = atMs + windowMs - nowMs
  if not force and count + cost > limit then
    return leftMs, math.max(0, limit - count), isLive and leftMs or 0, 0, 0
  end
  local before = count
  -- What was taken in an earlier window has left with it.
  if not (cost < 0 and takenMs and takenMs < atMs) then
    count = addBounded(count, cost, limit + rule.maxDebt)
  end
  -- A window whose count was given back stays open: it must not restart before its end.
  local resetAfterMs = (isLive or count > 0) and leftMs or 0
  local next, returned = { atMs = atMs, count = count, windowMs = windowMs }, cost < 0 and before - count or 0
  return 0, math.max(0, limit - count), resetAfterMs, count > 0 and leftMs or 0, 0, next, returned
end

-- @read
local startMs, count, keepsTtl = anchor == 'clock' and nowMs - nowMs % windowMs or nowMs, 0, false
local isOpen = false
if isStored and isKnown then
  local stateMs, stateCount, madeMs = struct.unpack('<ddd', value)
  isKnown = madeMs == windowMs and stateMs % 1 == 0 and stateMs >= 0 and stateMs <= nowMs
  isKnown = isKnown and stateCount % 1 == 0 and stateCount >= 0 and stateCount <= EXACT
  isOpen = nowMs < stateMs + windowMs
  if isOpen then
    startMs, count, keepsTtl = stateMs, stateCount, not hasBlock
  end
end
local leftMs = startMs + windowMs - nowMs
-- The window that opens with a first request does not open with what was lent.
isKnown, count = isKnown and (isOpen or lent == 0 or anchor == 'clock'), count + lent

-- @step
local passes = count + amount <= limit
if passes and take then
  count = count + amount
end
local remaining = count < limit and limit - count or 0
local resetAfterMs = (isOpen or count > 0) and leftMs or 0
local laterMs = count > 0 and leftMs or 0

-- @late
isKnown = isKnown and lastMs <= startMs + windowMs

-- @write
stored = struct.pack('<ddd', startMs, count - lent, windowMs)

-- @patch
redis.call('SETRANGE', key, '8', struct.pack('<d', count))
