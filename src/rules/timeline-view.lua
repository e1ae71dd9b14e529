-- A timeline is what was taken within the last spanMs: newest at atMs, and before that the pairs of its runs, from runs[first] on. What
-- counts is total. A short one is kept as its newest time, the sum before its first pair, how long each cost counts, and all pairs: 24 bytes,
-- and 16 for each pair. Where there is no run, that sum is base, or else 0.
local function makeTimeline(atMs, spanMs, newest, total, runs, first, base)
  return { atMs = atMs, spanMs = spanMs, newest = newest, total = total, runs = runs, first = first, base = base or 0 }
end

local function readTimeline(value, at)
  local size = #value - at + 1
  if size < 40 or size > 40 + 16 * MOST_PAIRS or size % 16 ~= 8 then
    return nil
  end
  local atMs, base, spanMs, firstMs, first = struct.unpack('<ddddd', value, at)
  local newestMs, sum = struct.unpack('<dd', value, #value - 15)
  local lastMs, before, runs = firstMs - 1, base, {}
  if size > 40 then
    lastMs, before = struct.unpack('<dd', value, #value - 31)
    runs[1] = { text = value, from = at + 24, to = #value - 31, base = base, sum = before - base }
    runs[1].firstMs, runs[1].lastMs, runs[1].aheadMs = firstMs, lastMs, 0
  end
  -- Before 1970 it can be by a clock that was set back.
  local isTime = newestMs == atMs and isWhole(atMs, -EXACT) and isWhole(firstMs, -EXACT, atMs) and isWhole(spanMs, 1)
  local isLast = size == 40 and firstMs == atMs or isWhole(lastMs, firstMs, atMs - 1) and isWhole(before, first)
  if isTime and isLast and isWhole(base, 0) and isWhole(first, base + 1) and isWhole(sum, before + 1) then
    return makeTimeline(atMs, spanMs, sum - before, sum - base, runs, 1, base)
  end
end

-- The line and the front of a long timeline; nothing of a short one.
local function readPlaces(key)
  local head, mark, count, lineSize, frontSize = readPart(key, 0, 32), 0, 0, 0, 0
  if #head == 32 then
    mark, count, lineSize, frontSize = struct.unpack('<dddd', head)
  end
  if mark ~= LONG then
    return nil
  end
  assertOwn(isWhole(count, 1) and isWhole(lineSize, 80) and lineSize % 56 == 24 and isWhole(frontSize, 0))
  local at = 32 + 16 * MOST_PAIRS * count
  local line, front = readPart(key, at, lineSize), readPart(key, at + lineSize, frontSize)
  assertOwn(#line == lineSize and #front == frontSize)
  places[key] = count
  return line, front
end

-- A long timeline, of its line.
local function readLong(key, line)
  local atMs, newest, spanMs = struct.unpack('<ddd', line)
  assertOwn(isWhole(atMs, -EXACT) and isWhole(newest, 1) and isWhole(spanMs, 1))
  local runs, total = readRuns(key, line, 25, atMs, places[key])
  return makeTimeline(atMs, spanMs, newest, total + newest, runs, 1)
end

-- Whether a timeline is too long for one value. One that was stays so until half a run is left.
local function isLong(state)
  local run = state.runs[state.first]
  return #state.runs > state.first or run and run.place and loadRun(run).to - run.from > 8 * MOST_PAIRS
end

local function writeTimeline(state)
  local run, base, pairs = state.runs[state.first], state.base, ''
  if (run or state).base + state.total > EXACT or run and run.aheadMs > 0 then
    -- Sums beyond would not be exact, and a short one has no times that are ahead.
    run, base = run and copyRun(loadRun(run), {}), 0
  end
  if run then
    base, pairs = loadRun(run).base, string.sub(run.text, run.from, run.to + 15)
  end
  return struct.pack('<ddd', state.atMs, base, state.spanMs)
    .. pairs
    .. struct.pack('<dd', state.atMs, base + state.total)
end

-- The clock was set back for good: every time moves by as much, so that all that was taken still counts.
local function moveTimeline(state, backMs)
  local runs = {}
  for index = state.first, #state.runs do
    runs[#runs + 1] = moveRun(state.runs[index], backMs)
  end
  return makeTimeline(state.atMs - backMs, state.spanMs, state.newest, state.total, runs, 1)
end

-- What still counts. What another span has counted leaves when the shorter of the two says so.
local function findLive(state, nowMs, ownMs)
  local spanMs = math.min(state.spanMs, ownMs)
  local afterMs = nowMs - spanMs
  if state.atMs > nowMs then
    state = moveTimeline(state, state.atMs - nowMs)
  elseif state.atMs <= afterMs then
    return makeTimeline(state.atMs, spanMs, 0, 0, {}, 1)
  end
  local runs, first, total, base = state.runs, state.first, state.total, state.base
  while runs[first + 1] and runs[first + 1].firstMs <= afterMs do
    total, first = total - runs[first].sum, first + 1
  end
  local run = runs[first]
  if run and run.firstMs <= afterMs then
    local at = findPair(loadRun(run), afterMs)
    if at > run.to then
      total, first, base = total - run.sum, first + 1, run.base + run.sum
    else
      local rest = withoutFront(run, at, sumBefore(run, at))
      runs, first, total = copyRuns(runs, first, #runs), 1, total - run.sum + rest.sum
      runs[1] = rest
    end
  end
  return makeTimeline(state.atMs, spanMs, state.newest, total, runs, first, base)
end

-- How much has left with the runs from the first one to each of them, as its first use finds it.
local function findSums(live)
  local sums, sum = live.sums or {}, 0
  for index = live.first, live.sums and 0 or #live.runs do
    sum = sum + live.runs[index].sum
    sums[index] = sum
  end
  live.sums = sums
  return sums
end

-- The time of the pair with which at least amount has left, oldest first.
local function findFreeing(live, amount)
  local runs, low, high = live.runs, live.first, #live.runs + 1
  if amount == 1 and runs[low] then
    return runs[low].firstMs
  end
  local sums = findSums(live)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sums[middle] < amount then
      low = middle + 1
    else
      high = middle
    end
  end
  local run = runs[low]
  if not run then
    return live.atMs
  end
  local sum = run.base + amount - (sums[low - 1] or 0) - 1
  return readTime(run, findPair(loadRun(run), nil, sum))
end

-- Which of the runs has what was taken at a time before the newest one; none when that is before all of them.
local function findRun(live, takenMs)
  local runs, low, high = live.runs, live.first - 1, #live.runs
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if runs[middle].firstMs <= takenMs then
      low = middle
    else
      high = middle - 1
    end
  end
  return low
end

-- What was taken at a time and still counts.
local function findTaken(live, takenMs)
  local index = findRun(live, takenMs)
  -- The runs before the first one have left.
  local run = index >= live.first and live.runs[index]
  if takenMs == live.atMs then
    return live.newest
  elseif not run then
    return 0
  end
  local at = findPair(loadRun(run), takenMs - 1)
  if at > run.to then
    return 0
  end
  local timeMs, sum = struct.unpack('<dd', run.text, at)
  return timeMs - run.aheadMs == takenMs and sum - sumBefore(run, at) or 0
end

-- The timeline with more that is taken now. Something new makes all of it count for ownMs.
local function withMore(live, nowMs, more, ownMs)
  if live.total == 0 then
    return makeTimeline(nowMs, ownMs, more, more, {}, 1)
  elseif live.atMs == nowMs then
    return makeTimeline(nowMs, ownMs, live.newest + more, live.total + more, live.runs, live.first, live.base)
  end
  local runs = copyRuns(live.runs, live.first, #live.runs)
  local last = runs[#runs]
  -- Sums beyond EXACT would not be exact.
  if last and last.base + last.sum + live.newest <= EXACT and loadRun(last).to - last.from < 16 * (MOST_PAIRS - 1) then
    local sum = last.sum + live.newest
    local pair = struct.pack('<dd', live.atMs + last.aheadMs, last.base + sum)
    local text = string.sub(last.text, last.from, last.to + 15) .. pair
    runs[#runs] = makeRun(text, last.base, sum, last.aheadMs, last.place)
  else
    local base = not last and live.base + live.newest <= EXACT and live.base or 0
    runs[#runs + 1] = makeRun(struct.pack('<dd', live.atMs, base + live.newest), base, live.newest, 0)
  end
  return makeTimeline(nowMs, ownMs, more, live.total + more, runs, 1)
end

-- @late
local lateMs = lastMs - 1 - nowMs
laterMs = amount + lent > limit and lateMs + spanMs or math.max(laterMs, lateMs)
