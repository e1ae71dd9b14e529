-- strict-window: counts in slices and forgets a slice only when all of it is older than the window.
--
-- limit     requests in any window, whole number >= 1
-- windowMs  length of the window in milliseconds, whole number >= 1
-- slices    into how many slices the window is cut, whole number from 1 to 1000, default math.min(10, windowMs)
-- maxDebt   how far a charge may go beyond the limit, whole number >= 0, default limit
-- holds     dated
--
-- plain #value == 8 * (slices + 3)
-- valid #state >= 32 and #state <= 8024 and #state % 8 == 0 and timeOf(struct.unpack('<d', state), struct.unpack('<d', state, #state - 7), #state / 8 - 3)
-- state strict-window@1: start of the newest slice, the counts of N + 1 slices, oldest first, minus the length of a slice
local function timeOf(atMs, minusSliceMs, slices)
  local isTime = atMs % 1 == 0 and atMs >= 0 and atMs <= EXACT
  -- No count is below zero: so a state that was cut off cannot pass for one of fewer slices.
  return isTime and minusSliceMs % 1 == 0 and minusSliceMs <= -1 and minusSliceMs * slices >= -EXACT and atMs
end

local function liveCounts(state, atMs, live, sliceMs)
  local counts, passed, used = {}, live, 0
  if state then
    counts = { struct.unpack('<' .. string.rep('d', live), state, 9) }
    passed = math.max(0, math.floor((atMs - (struct.unpack('<d', state))) / sliceMs + 0.5))
  end
  for slice = 1, live do
    if passed > 0 then
      counts[slice] = slice + passed <= live and counts[slice + passed] or 0
    end
    local count = counts[slice]
    if not (count % 1 == 0 and count >= 0 and count <= 2 * EXACT) then
      error(FOREIGN, 0)
    end
    used = used + count
  end
  return counts, used
end

-- Takes up to amount from the slices between newest and oldest, newest first, and answers how much that was.
local function giveBack(counts, amount, newest, oldest)
  local slice, left = newest, amount
  while slice >= math.max(1, oldest) and left > 0 do
    local removed = math.min(left, counts[slice])
    counts[slice] = counts[slice] - removed
    left = left - removed
    slice = slice - 1
  end
  return amount - left
end

local function step(limit, windowMs, slices, maxDebt, state, nowMs, cost, force, takenMs)
  local sliceMs = math.ceil(windowMs / slices)
  local madeMs = state and -struct.unpack('<d', state, #state - 7) or sliceMs
  local madeSlices = state and #state / 8 - 3 or slices
  if madeMs ~= sliceMs or madeSlices ~= slices then
    local function theirs(...)
      return step(limit, madeMs * madeSlices, madeSlices, maxDebt, ...)
    end
    local function mine(...)
      return step(limit, windowMs, slices, maxDebt, ...)
    end
    -- Where nearly everything fits, what does not remain is used, debt included.
    local _, remaining = step(EXACT, madeMs * madeSlices, madeSlices, maxDebt, state, nowMs, 0, true)
    local recounted
    if remaining < EXACT then
      _, _, _, _, _, recounted = mine(nil, nowMs, EXACT - remaining, true)
    end
    return stepOutlived(theirs, mine, recounted, state, nowMs, cost, force, takenMs)
  end
  local atMs, live = nowMs - nowMs % sliceMs, slices + 1
  local counts, used = liveCounts(state, atMs, live, sliceMs)

  -- How many slices, from the start of the newest, until at least amount has left, oldest first.
  local function msUntilFree(amount)
    local slice, freed = 1, counts[1]
    while freed < amount and slice < live do
      slice = slice + 1
      freed = freed + counts[slice]
    end
    return atMs + slice * sliceMs - nowMs
  end

  -- The same for all that is used, from the other end: mostly the newest slice is not empty.
  local function msUntilEmpty()
    local slice = live
    while slice > 0 and counts[slice] == 0 do
      slice = slice - 1
    end
    return slice == 0 and 0 or atMs + slice * sliceMs - nowMs
  end

  if not force and used + cost > limit then
    return msUntilFree(cost - (limit - used)), math.max(0, limit - used), msUntilEmpty(), 0, 0
  end
  local returned = 0
  if cost < 0 then
    local only = takenMs and live - math.max(0, (atMs - (takenMs - takenMs % sliceMs)) / sliceMs)
    returned = giveBack(counts, -cost, only or live, only or 1)
    used = used - returned
  else
    local total = addBounded(used, cost, limit + maxDebt)
    counts[live] = counts[live] + (total - used)
    used = total
  end
  counts[live + 1] = -sliceMs
  local next = struct.pack('<d' .. string.rep('d', live + 1), atMs, (table.unpack or unpack)(counts, 1, live + 1))
  local nextAfterMs = used > 0 and msUntilFree(math.max(1, used - limit + 1)) or 0
  return 0, math.max(0, limit - used), msUntilEmpty(), nextAfterMs, 0, next, returned
end

-- @setup
local sliceMs, live = math.ceil(windowMs / slices), slices + 1
local startMs, layout = nowMs - nowMs % sliceMs, '<' .. string.rep('d', slices + 3)

-- @read
-- counts[2] is the oldest slice, counts[live + 1] the newest; around them are the time and minus the length of a slice.
local counts, used, passed = {}, 0, live
if isStored and isKnown then
  counts = { struct.unpack(layout, value) }
  local stateMs = counts[1]
  isKnown = counts[live + 2] == -sliceMs and stateMs % sliceMs == 0 and stateMs >= 0 and stateMs <= startMs
  passed = isKnown and (startMs - stateMs) / sliceMs or live
end
for slice = 2, live + 1 do
  local count = counts[slice] or 0
  isKnown = isKnown and count % 1 == 0 and count >= 0 and count <= EXACT
  if passed > 0 then
    counts[slice] = slice + passed <= live + 1 and counts[slice + passed] or 0
  end
  used = used + counts[slice]
end
counts[1], counts[live + 2] = startMs, -sliceMs

-- @step
local passes = used + amount <= limit
if passes and take then
  used, counts[live + 1] = used + amount, counts[live + 1] + amount
end
local remaining, newest, resetAfterMs, laterMs = math.max(0, limit - used), live + 1, 0, 0
while newest > 1 and counts[newest] == 0 do
  newest = newest - 1
end
if newest > 1 then
  -- When that passes: what was refused, or else more than remaining.
  local asked, oldest, freed = passes and remaining + 1 or amount, 2, counts[2]
  while freed < asked - (limit - used) and oldest < newest do
    oldest = oldest + 1
    freed = freed + counts[oldest]
  end
  resetAfterMs, laterMs = startMs + (newest - 1) * sliceMs - nowMs, startMs + (oldest - 1) * sliceMs - nowMs
end

-- @write
stored = struct.pack(layout, (table.unpack or unpack)(counts, 1, live + 2))
