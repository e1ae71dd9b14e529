-- A run is pairs of a time and the sum of all costs up to then, oldest first: 16 bytes each, from text[from] to text[to]. The first is of
-- firstMs. What counts of them is sum, beyond base. So the pair with which something leaves is found by halves.
--
-- A timeline of more than one run is a hash: its runs are fields by their ids, and each is read when it is needed and written when it has
-- changed. So no call reads or writes much, however long the timeline is.
local MOST_PAIRS = 256
-- What is known of the hashes, by their keys: the ids of their runs, and the next one.
local hashes = {}

local function makeRun(text, base, sum)
  local firstMs, lastMs = struct.unpack('<d', text), struct.unpack('<d', text, #text - 15)
  return { text = text, from = 1, to = #text - 15, base = base, sum = sum, firstMs = firstMs, lastMs = lastMs }
end

-- The run with its pairs at hand.
local function loadRun(run)
  if not run.text then
    local text = redis.call('HGET', run.key, string.format('%.0f', run.id)) or ''
    local to = #text - 15
    if #text % 16 ~= 0 or run.from > to then
      error(FOREIGN, 0)
    end
    local firstMs, lastMs, sum = struct.unpack('<d', text, run.from), struct.unpack('<dd', text, to)
    if firstMs ~= run.firstMs or not isWhole(lastMs, firstMs, run.beforeMs - 1) or sum ~= run.base + run.sum then
      error(FOREIGN, 0)
    end
    run.text, run.to, run.lastMs = text, to, lastMs
  end
  return run
end

-- The first pair of a run whose time is later than afterMs, or whose sum is more than sum; to + 16 when there is none.
local function findPair(run, afterMs, sum)
  local text, first, last, base, firstMs, lastMs = run.text, run.from, run.to, run.base, run.firstMs, run.lastMs
  local most = base + run.sum
  while first <= last do
    local at = first + 16 * math.floor((last - first) / 32)
    local timeMs, costs = struct.unpack('<dd', text, at)
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

-- The sum before the pair at text[at].
local function sumBefore(run, at)
  return at > run.from and (struct.unpack('<d', run.text, at - 8)) or run.base
end

-- The run without its pairs before text[at], of which base and less has left.
local function withoutFront(run, at, base)
  local firstMs = struct.unpack('<d', run.text, at)
  local rest = { text = run.text, from = at, to = run.to, base = base, sum = run.base + run.sum - base }
  rest.firstMs, rest.lastMs, rest.id, rest.isKept = firstMs, run.lastMs, run.id, run.isKept
  return rest
end

-- The run with other pairs in its text, under the same id.
local function withText(run, text, base, sum)
  local other = makeRun(text, base, sum)
  other.id = run.id
  return other
end

-- The run with every time less by backMs, and without what is to be removed of some times; nothing when nothing is left.
local function copyRun(run, backMs, removed)
  local count, last, sum, gone, before = 2 * ((run.to - run.from) / 16 + 1), 0, 0, 0, run.base
  local numbers = readNumbers(run.text, run.from, count)
  for index = 1, count, 2 do
    local timeMs, cost = numbers[index], numbers[index + 1] - before
    local less = removed[timeMs]
    before = before + cost
    if less then
      less = math.min(less, cost)
      cost, gone = cost - less, gone + less
    end
    if cost > 0 then
      sum = sum + cost
      numbers[last + 1], numbers[last + 2], last = timeMs - backMs, sum, last + 2
    end
  end
  if sum ~= run.sum - gone then
    error(FOREIGN, 0)
  end
  return sum > 0 and withText(run, packNumbers(numbers, last), 0, sum) or nil
end

-- The runs from runs[first] to runs[last], in a table of their own.
local function copyRuns(runs, first, last)
  local copy = {}
  for index = first, last do
    copy[index - first + 1] = runs[index]
  end
  return copy
end

-- The runs that a hash says it has: of each its id, where its first pair is, the sum before that, its sum, and its first time.
local function readRuns(key, rows, at, atMs, nextId)
  local count = (#rows - at + 1) / 40
  local numbers, runs, total, beforeMs, ids = readNumbers(rows, at, 5 * count), {}, 0, atMs, {}
  for index = count, 1, -1 do
    local place = 5 * index - 4
    local run = { key = key, id = numbers[place], from = numbers[place + 1], isKept = true, beforeMs = beforeMs }
    run.base, run.sum, run.firstMs = numbers[place + 2], numbers[place + 3], numbers[place + 4]
    local isRight = isWhole(run.id, 1, nextId - 1) and isWhole(run.from, 1) and run.from % 16 == 1
    isRight = isRight and isWhole(run.base, 0) and isWhole(run.sum, 1) and run.base + run.sum <= EXACT
    if not (isRight and isWhole(run.firstMs, -EXACT, beforeMs - 1)) then
      error(FOREIGN, 0)
    end
    runs[index], ids[index], total, beforeMs = run, run.id, total + run.sum, run.firstMs
  end
  hashes[key] = { ids = ids, nextId = nextId }
  return runs, total
end

-- Writes the runs that have changed, and what is before them: the front of the key, and the numbers of the timeline.
local function writeRuns(key, runs, first, front, numbers)
  local known = hashes[key] or { ids = {}, nextId = 1 }
  local nextId, used, gone, rows, fields = known.nextId, {}, {}, {}, { 'front', front, 'line', '' }
  for index = first, #runs do
    local run = runs[index]
    local id, from = run.id, run.from
    if not run.isKept then
      id, from, nextId = id or nextId, 1, id and nextId or nextId + 1
      fields[#fields + 1] = string.format('%.0f', id)
      fields[#fields + 1] = string.sub(run.text, run.from, run.to + 15)
    end
    used[id] = true
    rows[#rows + 1] = struct.pack('<ddddd', id, from, run.base, run.sum, run.firstMs)
  end
  fields[4] = struct.pack('<dddd', numbers[1], numbers[2], numbers[3], nextId) .. table.concat(rows)
  for _, id in ipairs(known.ids) do
    gone[#gone + 1] = not used[id] and string.format('%.0f', id) or nil
  end
  if not hashes[key] then
    redis.call('DEL', key)
  end
  redis.call('HSET', key, (table.unpack or unpack)(fields))
  if #gone > 0 then
    redis.call('HDEL', key, (table.unpack or unpack)(gone))
  end
end
