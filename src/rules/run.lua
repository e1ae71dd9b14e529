-- A run is pairs of a time and the sum of all costs up to then, oldest first: 16 bytes each, from text[from] to text[to]. The first is of
-- firstMs. What counts of them is sum, beyond base. So the pair with which something leaves is found by halves. In the text all times are later by
-- aheadMs: when a clock is set back for good, no pair is written again.
--
-- A timeline of more than one run is kept so that a call reads and writes only the runs that it needs. LONG, how many places for runs there
-- are, the lengths of line and front: 32 bytes. Then the places, of 4,096 bytes each, then line and front. The line is the timeline's newest time,
-- what was taken then, and how long each cost counts, and of each run its place, where in that it starts, base, sum, firstMs and aheadMs. The front is what
-- comes before the state of a short one.
local LONG, MOST_PAIRS = -0.125, 256
-- What long timelines have, by their keys: how many places.
local places = {}

local function readPart(key, at, size)
  return redis.call('GETRANGE', key, string.format('%.0f', at), string.format('%.0f', at + size - 1))
end

local function writePart(key, at, text)
  redis.call('SETRANGE', key, string.format('%.0f', at), text)
end

local function makeRun(text, base, sum, aheadMs, place)
  local firstMs, lastMs = struct.unpack('<d', text) - aheadMs, struct.unpack('<d', text, #text - 15) - aheadMs
  local run = { text = text, from = 1, to = #text - 15, base = base, sum = sum, place = place }
  run.firstMs, run.lastMs, run.aheadMs = firstMs, lastMs, aheadMs
  return run
end

-- The run with its pairs at hand.
local function loadRun(run)
  if not run.text then
    local text = readPart(run.key, 32 + 16 * MOST_PAIRS * (run.place - 1), run.size)
    local to = #text - 15
    assertOwn(#text == run.size and run.from <= to)
    local firstMs, lastMs, sum = struct.unpack('<d', text, run.from) - run.aheadMs, struct.unpack('<dd', text, to)
    lastMs = lastMs - run.aheadMs
    assertOwn(firstMs == run.firstMs and isWhole(lastMs, firstMs, run.beforeMs - 1) and sum == run.base + run.sum)
    run.text, run.to, run.lastMs = text, to, lastMs
  end
  return run
end

-- The first pair of a run whose time is later than afterMs, or whose sum is more than sum; to + 16 when there is none.
local function findPair(run, afterMs, sum)
  local text, first, last, base, firstMs, lastMs = run.text, run.from, run.to, run.base, run.firstMs, run.lastMs
  local most, aheadMs = base + run.sum, run.aheadMs
  while first <= last do
    local at = first + 16 * math.floor((last - first) / 32)
    local timeMs, costs = struct.unpack('<dd', text, at)
    timeMs = timeMs - aheadMs
    if timeMs % 1 + costs % 1 ~= 0 or timeMs < firstMs or timeMs > lastMs or costs <= base or costs > most then
      error(FOREIGN, 0)
    elseif (afterMs and timeMs > afterMs) or (sum and costs > sum) then
      last = at - 16
    else
      first = at + 16
    end
  end
  return first
end

local function readTime(run, at)
  return struct.unpack('<d', run.text, at) - run.aheadMs
end

-- The sum before the pair at text[at].
local function sumBefore(run, at)
  return at > run.from and (struct.unpack('<d', run.text, at - 8)) or run.base
end

-- The run without its pairs before text[at], of which base and less has left.
local function withoutFront(run, at, base)
  local rest =
    { text = run.text, from = at, to = run.to, base = base, sum = run.base + run.sum - base, size = run.size }
  rest.firstMs, rest.lastMs, rest.aheadMs = readTime(run, at), run.lastMs, run.aheadMs
  rest.place, rest.isKept = run.place, run.isKept
  return rest
end

-- The run with every time less by backMs.
local function moveRun(run, backMs)
  return {
    key = run.key,
    text = run.text,
    place = run.place,
    from = run.from,
    to = run.to,
    size = run.size,
    isKept = run.isKept,
    base = run.base,
    sum = run.sum,
    firstMs = run.firstMs - backMs,
    lastMs = run.lastMs and run.lastMs - backMs,
    beforeMs = run.beforeMs and run.beforeMs - backMs,
    aheadMs = run.aheadMs + backMs,
  }
end

-- The run written anew, without what is to be removed of some times; nothing when nothing is left.
local function copyRun(run, removed)
  local count, last, sum, gone, before = 2 * ((run.to - run.from) / 16 + 1), 0, 0, 0, run.base
  local numbers, aheadMs = readNumbers(run.text, run.from, count), run.aheadMs
  for index = 1, count, 2 do
    local timeMs, cost = numbers[index] - aheadMs, numbers[index + 1] - before
    local less = removed[timeMs]
    before = before + cost
    if less then
      less = math.min(less, cost)
      cost, gone = cost - less, gone + less
    end
    if cost > 0 then
      sum = sum + cost
      numbers[last + 1], numbers[last + 2], last = timeMs, sum, last + 2
    end
  end
  assertOwn(sum == run.sum - gone)
  return sum > 0 and makeRun(packNumbers(numbers, last), 0, sum, 0, run.place) or nil
end

-- The runs from runs[first] to runs[last], in a table of their own.
local function copyRuns(runs, first, last)
  local copy = {}
  for index = first, last do
    copy[index - first + 1] = runs[index]
  end
  return copy
end

-- The runs of a line, from line[at] on.
local function readRuns(key, line, at, atMs, count)
  local size = (#line - at + 1) / 56
  local numbers, runs, total, beforeMs = readNumbers(line, at, 7 * size), {}, 0, atMs
  for index = size, 1, -1 do
    local place, from, bytes, base, sum, firstMs, aheadMs = (table.unpack or unpack)(numbers, 7 * index - 6, 7 * index)
    local isRight = isWhole(place, 1, count) and isWhole(from, 1) and isWhole(bytes, 16, 16 * MOST_PAIRS)
    isRight = isRight and from % 16 == 1 and bytes % 16 == 0 and isWhole(base, 0) and isWhole(sum, 1)
    isRight = isRight and base + sum <= EXACT and isWhole(aheadMs, 0)
    assertOwn(isRight and isWhole(firstMs, -EXACT, beforeMs - 1))
    runs[index] = {
      key = key,
      place = place,
      from = from,
      size = bytes,
      isKept = true,
      base = base,
      sum = sum,
      firstMs = firstMs,
      aheadMs = aheadMs,
      beforeMs = beforeMs,
    }
    total, beforeMs = total + sum, firstMs
  end
  return runs, total
end

-- Writes the runs that have changed, then line and front, and at last what says where those are.
local function writeRuns(key, runs, first, line, front)
  local count, used, next, rows = places[key] or 0, {}, 1, {}
  for index = first, #runs do
    used[runs[index].place or 0] = true
  end
  for index = first, #runs do
    local run = runs[index]
    local place, from, size = run.place, run.from, run.size
    if not run.isKept then
      while not place and used[next] do
        next = next + 1
      end
      local text = string.sub(run.text, run.from, run.to + 15)
      place, from, size = place or next, 1, #text
      used[place], count = true, math.max(count, place)
      writePart(key, 32 + 16 * MOST_PAIRS * (place - 1), text)
    end
    rows[#rows + 1] = struct.pack('<ddddddd', place, from, size, run.base, run.sum, run.firstMs, run.aheadMs)
  end
  line = line .. table.concat(rows)
  writePart(key, 32 + 16 * MOST_PAIRS * count, line .. front)
  writePart(key, 0, struct.pack('<dddd', LONG, count, #line, #front))
end
