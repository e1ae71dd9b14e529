-- strict-window: counts in slices and forgets a slice only when all of it is older than the window.
--
-- limit     requests in any window, whole number >= 1
-- windowMs  length of the window in milliseconds, whole number >= 1
-- slices    into how many slices the window is cut, whole number from 1 to 1000, default math.min(10, windowMs)
-- maxDebt   how far a charge may go beyond the limit, whole number >= 0, default limit
-- holds     dated
--
-- plain #value == 8 * (slices + 3)
-- full  slices, maxDebt, sliceMs = math.ceil(windowMs / slices), prefetches = true, slotMs = math.ceil(windowMs / slices): StrictWindow
-- state strict-window@1: start of the newest slice, the counts of N + 1 slices, oldest first, minus the length of a slice
local function readStrictWindow(value, at)
  local slices = (#value - at + 1) / 8 - 3
  if not isWhole(slices, 1, 1000) then
    return nil
  end
  local counts = { struct.unpack('<' .. string.rep('d', slices + 2), value, at + 8) }
  local atMs, sliceMs, live = struct.unpack('<d', value, at), -counts[slices + 2], slices + 1
  local isRight, total, parts = isWhole(atMs, 0) and isWhole(sliceMs, 1) and sliceMs * slices <= EXACT, 0, 0
  for slice = 1, live do
    local count = counts[slice]
    total, parts = total + count, parts + count % 1
    -- No count is below zero: so a state that was cut off cannot pass for one of fewer slices.
    isRight = isRight and count >= 0 and count <= 2 * EXACT
  end
  if isRight and parts == 0 then
    return { atMs = atMs, counts = counts, slices = slices, sliceMs = sliceMs, total = total }
  end
end

local function writeStrictWindow(state)
  local counts, live = state.counts, state.slices + 1
  counts[live + 1] = -state.sliceMs
  return struct.pack('<d' .. string.rep('d', live + 1), state.atMs, (table.unpack or unpack)(counts, 1, live + 1))
end

local function stepStrictWindow(rule, state, nowMs, cost, force, takenMs)
  local limit, sliceMs, live = rule.limit, rule.sliceMs, rule.slices + 1
  local atMs, counts, used, returned = nowMs - nowMs % sliceMs, {}, 0, 0
  local passed = state and math.max(0, math.floor((atMs - state.atMs) / sliceMs + 0.5)) or live
  if passed < live then
    counts, used = { (table.unpack or unpack)(state.counts, passed + 1, live) }, state.total
    for slice = 1, passed do
      used = used - state.counts[slice]
    end
  end
  for slice = math.max(1, live - passed + 1), live do
    counts[slice] = 0
  end
  local passes = force or used + cost <= limit
  if passes and cost < 0 then
    -- The newest first, or only from the slice in which it was taken.
    local only = takenMs and live - math.max(0, (atMs - (takenMs - takenMs % sliceMs)) / sliceMs)
    for slice = only or live, math.max(1, only or 1), -1 do
      local removed = math.min(-cost - returned, counts[slice])
      counts[slice], returned = counts[slice] - removed, returned + removed
    end
    used = used - returned
  elseif passes then
    local total = addBounded(used, cost, limit + rule.maxDebt)
    counts[live], used = counts[live] + (total - used), total
  end
  local remaining, newest, resetAfterMs, laterMs = math.max(0, limit - used), live, 0, 0
  while newest > 0 and counts[newest] == 0 do
    newest = newest - 1
  end
  if newest > 0 then
    -- When that passes: what was refused, or else more than remaining.
    local need, oldest, freed = passes and math.max(1, used - limit + 1) or cost - (limit - used), 1, counts[1]
    while freed < need and oldest < live do
      oldest = oldest + 1
      freed = freed + counts[oldest]
    end
    resetAfterMs, laterMs = atMs + newest * sliceMs - nowMs, atMs + oldest * sliceMs - nowMs
  end
  if not passes then
    return laterMs, remaining, resetAfterMs, 0, 0
  end
  local next = { atMs = atMs, counts = counts, slices = rule.slices, sliceMs = sliceMs, total = used }
  return 0, remaining, resetAfterMs, laterMs, 0, next, returned
end

-- The oldest slice with which at least amount has left. What all slices up to each one have counted, its first use finds.
local function findFreeingSlice(state, amount)
  local sums, sum, low, high = state.sums or {}, 0, 1, state.slices + 1
  for slice = 1, state.sums and 0 or high do
    sum = sum + state.counts[slice]
    sums[slice] = sum
  end
  state.sums = sums
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sums[middle] < amount then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- When a cost passes after the amounts of the first count rows have gone back, without the counts that have them given back. In this order of rows
-- what was taken first comes first.
local function retryStrictWindow(rule, state, nowMs, cost, lefts, takens, count, order)
  local sliceMs, live, removed, slices = state.sliceMs, state.slices + 1, {}, {}
  local passed = math.max(0, math.floor((nowMs - nowMs % sliceMs - state.atMs) / sliceMs + 0.5))
  for _, row in ipairs(order) do
    local slice = live + math.min(0, math.floor(takens[row] / sliceMs) - state.atMs / sliceMs)
    if row <= count and slice > passed and slice >= 1 then
      slices[#slices + 1] = not removed[slice] and slice or nil
      removed[slice] = math.min(state.counts[slice], (removed[slice] or 0) + lefts[row])
    end
  end
  findFreeingSlice(state, 1)
  local gone = passed > 0 and state.sums[math.min(passed, live)] or 0
  local needed = state.sums[live] + cost - rule.limit
  for _, slice in ipairs(slices) do
    needed = needed - removed[slice]
  end
  if needed <= gone then
    return 0
  end
  for _, slice in ipairs(slices) do
    -- Where the slices before it free enough, none of it is needed. Otherwise what leaves with it no more has to come from others.
    if (state.sums[slice - 1] or 0) >= needed then
      break
    end
    needed = needed + removed[slice]
  end
  return state.atMs + findFreeingSlice(state, needed) * sliceMs - nowMs
end

-- @setup
local sliceMs, live = math.ceil(windowMs / slices), slices + 1
local startMs, layout = nowMs - nowMs % sliceMs, '<' .. string.rep('d', slices + 3)

-- @read
-- counts[2] is the oldest slice, counts[live + 1] the newest; around them are the time and minus the length of a slice.
local counts, used, passed = {}, 0, live
if isStored and isKnown then
  counts = { struct.unpack(layout, value) }
  isKnown = counts[live + 2] == -sliceMs and counts[1] % sliceMs == 0 and counts[1] >= 0 and counts[1] <= startMs
  passed = isKnown and (startMs - counts[1]) / sliceMs or live
end
for slice = 2, live + 1 do
  local count = counts[slice] or 0
  isKnown = isKnown and count % 1 == 0 and count >= 0 and count <= EXACT
  counts[slice] = slice + passed <= live + 1 and counts[slice + passed] or 0
  used = used + counts[slice]
end
counts[1], counts[live + 2], used = startMs, -sliceMs, used + lent

-- @step
local passes = used + amount <= limit
if passes and take then
  used, counts[live + 1] = used + amount, counts[live + 1] + amount
end
local remaining, newest, resetAfterMs, laterMs = math.max(0, limit - used), live + 1, 0, 0
while newest > 1 and counts[newest] == 0 and lent == 0 do
  newest = newest - 1
end
if newest > 1 then
  -- When that passes: what was refused, or else more than remaining.
  local asked, oldest, freed = passes and remaining + 1 or amount, 2, counts[2]
  while freed < asked - (limit - used) and oldest < newest do
    oldest, freed = oldest + 1, freed + counts[oldest + 1]
  end
  resetAfterMs, laterMs = startMs + (newest - 1) * sliceMs - nowMs, startMs + (oldest - 1) * sliceMs - nowMs
end

-- @late
isKnown = isKnown and lastMs <= startMs + sliceMs

-- @write
stored = struct.pack(layout, (table.unpack or unpack)(counts, 1, live + 2))
