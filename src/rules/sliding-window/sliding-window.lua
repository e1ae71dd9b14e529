-- sliding-window: counts the current window in full and the one before by the share that still overlaps, rounded down.
--
-- limit     requests per window, whole number >= 1
-- windowMs  length of the window in milliseconds, whole number >= 1
-- maxDebt   how far a charge may go beyond the limit, whole number >= 0, default limit
-- exact     (limit + maxDebt) * windowMs
-- holds     dated
--
-- plain #value == 32
-- full  windowMs, maxDebt, prefetches = true, slotMs = windowMs: SlidingWindow
-- state sliding-window@1: start of the current window, its count, the count of the one before, length of the window
local function readSlidingWindow(value, at)
  if #value - at == 31 then
    local atMs, current, previous, windowMs = struct.unpack('<dddd', value, at)
    if
      isWhole(windowMs, 1)
      and isWhole(atMs, 0)
      and atMs % windowMs == 0
      and isWhole(current, 0)
      and isWhole(previous, 0)
    then
      return { atMs = atMs, current = current, previous = previous, windowMs = windowMs }
    end
  end
end

local function writeSlidingWindow(state)
  return struct.pack('<dddd', state.atMs, state.current, state.previous, state.windowMs)
end

local function stepSlidingWindow(rule, state, nowMs, cost, force, takenMs)
  local limit, windowMs, current, previous, returned = rule.limit, rule.windowMs, 0, 0, 0
  local atMs = nowMs - nowMs % windowMs
  local elapsedMs = nowMs - atMs
  if state and atMs <= state.atMs then
    current, previous = state.current, state.previous
  elseif state and atMs - state.atMs <= windowMs then
    previous = state.current
  end

  -- The last windowMs milliseconds end with this one: so many of them lie in the window before. Rounded down: only so are evenly
  -- spaced requests at exactly the limit never refused.
  local sharedMs = windowMs - 1 - elapsedMs
  local passes = force or math.floor(previous * sharedMs / windowMs) <= limit - current - cost
  if passes and cost < 0 then
    local inCurrent = not takenMs or takenMs >= atMs
    local inPrevious = not takenMs or (takenMs < atMs and takenMs >= atMs - windowMs)
    local fromCurrent = inCurrent and math.min(-cost, current) or 0
    local fromPrevious = inPrevious and math.min(-cost - fromCurrent, previous) or 0
    current, previous, returned = current - fromCurrent, previous - fromPrevious, fromCurrent + fromPrevious
  elseif passes then
    current = addBounded(current, cost, limit + rule.maxDebt)
  end

  local remaining = math.max(0, limit - current - math.floor(previous * sharedMs / windowMs))
  local windows = current > 0 and 2 or previous > 0 and 1 or 0
  local resetAfterMs = windows == 0 and 0 or windows * windowMs - elapsedMs
  -- When that passes: what was refused, or else more than remaining.
  local asked, laterMs = passes and remaining + 1 or cost, 0
  local free = limit - current - asked
  if free >= 0 then
    laterMs = math.floor(windowMs * (previous - free - 1) / previous) - elapsedMs
  elseif asked <= limit or not passes then
    laterMs = windowMs - elapsedMs + math.floor(windowMs * (current - limit + asked - 1) / current)
  end
  local next = passes and { atMs = atMs, current = current, previous = previous, windowMs = windowMs } or nil
  return passes and 0 or laterMs, remaining, resetAfterMs, passes and laterMs or 0, 0, next, returned
end

-- @setup
local startMs, leftMs = nowMs - nowMs % windowMs, windowMs - nowMs % windowMs

-- @read
local stateMs, current, previous, madeMs, keepsTtl = startMs, 0, 0, windowMs, false
if isStored and isKnown then
  stateMs, current, previous, madeMs = struct.unpack('<dddd', value)
  isKnown = madeMs == windowMs and stateMs % windowMs == 0 and stateMs >= 0 and stateMs <= startMs
  isKnown = isKnown and current >= 0 and previous >= 0 and current + previous <= EXACT
  isKnown = isKnown and current % 1 + previous % 1 == 0
  keepsTtl = stateMs == startMs and current > 0 and not hasBlock
  previous = stateMs == startMs and previous or startMs - stateMs == windowMs and current or 0
  current = stateMs == startMs and current or 0
end
-- Of the last windowMs milliseconds leftMs - 1 lie in the window before. Rounded down: a steady client at the limit passes.
local overlap = math.floor(previous * (leftMs - 1) / windowMs)
current = current + lent

-- @step
local free = limit - current - overlap
local passes = amount <= free
if passes and take then
  current, free = current + amount, free - amount
end
local remaining = free > 0 and free or 0
local resetAfterMs = current > 0 and windowMs + leftMs or previous > 0 and leftMs or 0
-- When that passes: what was refused, or else more than remaining.
local asked, laterMs = passes and remaining + 1 or amount, 0
local room = limit - current - asked
if room >= 0 then
  laterMs = math.floor(windowMs * (previous - room - 1) / previous) - windowMs + leftMs
elseif asked <= limit then
  laterMs = math.floor(windowMs * (current - limit + asked - 1) / current) + leftMs
end

-- @late
isKnown = isKnown and lastMs <= startMs + windowMs

-- @write
stored = struct.pack('<dddd', startMs, current - lent, previous, windowMs)

-- @patch
redis.call('SETRANGE', key, '8', struct.pack('<d', current))
