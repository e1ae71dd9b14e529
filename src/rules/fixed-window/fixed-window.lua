-- fixed-window: counts inside windows that do not overlap.
--
-- limit     requests per window, whole number >= 1
-- windowMs  length of a window in milliseconds, whole number >= 1
-- anchor    windows start at multiples of windowMs or with a key's first request: clock or first-hit, default clock
-- maxDebt   how far a charge may go beyond the limit, whole number >= 0, default limit
-- holds     dated
--
-- plain #value == 24
-- valid #state == 24 and timeOf(struct.unpack('<ddd', state))
-- state fixed-window@1: start of the window, count, length of the window
local function timeOf(atMs, count, windowMs)
  local isWhole = atMs % 1 == 0 and count % 1 == 0 and windowMs % 1 == 0
  local isCounted = atMs >= 0 and atMs <= EXACT and count >= 0 and count <= 2 * EXACT
  return isWhole and isCounted and windowMs >= 1 and windowMs <= EXACT and atMs
end

local function step(limit, windowMs, anchor, maxDebt, state, nowMs, cost, force, takenMs)
  local atMs, count, live, keeps = nil, 0, false, false
  if state then
    local madeMs
    atMs, count, madeMs = struct.unpack('<ddd', state)
    live = nowMs < atMs + madeMs
    count = live and count or 0
    if madeMs ~= windowMs then
      local function theirs(...)
        return step(limit, madeMs, anchor, maxDebt, ...)
      end
      local function mine(...)
        return step(limit, windowMs, anchor, maxDebt, ...)
      end
      local _, recounted
      if count > 0 then
        _, _, _, _, _, recounted = mine(nil, nowMs, count, true)
      end
      return stepOutlived(theirs, mine, recounted, state, nowMs, cost, force, takenMs)
    end
    keeps = live and nowMs >= atMs
  end
  if not live or nowMs < atMs then
    atMs = anchor == 'clock' and nowMs - nowMs % windowMs or nowMs
  end
  local leftMs = atMs + windowMs - nowMs
  if not force and count + cost > limit then
    return leftMs, math.max(0, limit - count), live and leftMs or 0, 0, 0
  end
  local before = count
  -- What was taken in an earlier window has left with it.
  if not (cost < 0 and takenMs and takenMs < atMs) then
    count = addBounded(count, cost, limit + maxDebt)
  end
  -- A window whose count was given back stays open: it must not restart before its end.
  local resetAfterMs = (live or count > 0) and leftMs or 0
  local returned = cost < 0 and before - count or 0
  local next = struct.pack('<ddd', atMs, count, windowMs)
  return 0, math.max(0, limit - count), resetAfterMs, count > 0 and leftMs or 0, 0, next, returned, keeps
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

-- @step
local passes = count + amount <= limit
if passes and take then
  count = count + amount
end
local remaining = count < limit and limit - count or 0
local resetAfterMs = (isOpen or count > 0) and leftMs or 0
local laterMs = count > 0 and leftMs or 0

-- @write
stored = struct.pack('<ddd', startMs, count, windowMs)
