-- Holds: what was taken for a time. Each is a row of five numbers: its id, its amount, what is left of that to go back, when it was taken,
-- and until when it lasts. Those that expire first come first. Before the rows are the latest time at which one was taken, also of those
-- that have ended since, and mostLeft: no more than that can go back of any hold. So a take clips all of them, and touches none. As they
-- are worked on, count rows are in rows[from..].
local function readRow(holds, index)
  local id, amount, left, takenMs, untilMs = struct.unpack('<ddddd', holds.rows, holds.from + 40 * (index - 1))
  -- What is left of a hold may be a part, and clocks that were set back have times before 1970.
  local isRight = isWhole(id, 1) and isWhole(amount, 1) and left >= 0 and left <= EXACT
  if not (isRight and isWhole(takenMs, -EXACT, holds.lastTakenMs) and isWhole(untilMs, takenMs + 1, 2 * EXACT)) then
    error(FOREIGN, 0)
  end
  return id, amount, math.min(left, holds.mostLeft), takenMs, untilMs
end

local function readUntil(holds, index)
  return struct.unpack('<d', holds.rows, holds.from + 40 * index - 8)
end

-- The numbers of the first rows.
local function readRows(holds, count)
  local numbers = readNumbers(holds.rows, holds.from, 5 * count)
  for at = 3, 5 * count, 5 do
    numbers[at] = math.min(numbers[at], holds.mostLeft)
  end
  return numbers
end

-- The holds with other rows.
local function withRows(holds, rows, from, count)
  if count == 0 then
    return nil
  end
  return { rows = rows, from = from, count = count, lastTakenMs = holds.lastTakenMs, mostLeft = holds.mostLeft }
end

-- The holds with other numbers in their rows.
local function writeRows(holds, numbers)
  return withRows(holds, packNumbers(numbers, 5 * holds.count), 1, holds.count)
end

local function readHolds(value, at, count)
  local lastTakenMs, mostLeft = struct.unpack('<dd', value, at)
  if not (isWhole(lastTakenMs, -EXACT) and mostLeft >= 0 and mostLeft <= EXACT) then
    error(FOREIGN, 0)
  end
  local holds = { rows = value, from = at + 16, count = count, lastTakenMs = lastTakenMs, mostLeft = mostLeft }
  -- To read all of them would take longer than to decide: the others are judged when they are read.
  readRow(holds, 1)
  readRow(holds, count)
  return holds
end

local function writeHolds(holds)
  local rows = string.sub(holds.rows, holds.from, holds.from + 40 * holds.count - 1)
  return struct.pack('<ddd', -holds.count - 0.5, holds.lastTakenMs, holds.mostLeft) .. rows
end

-- The state after the holds in the first rows have gone back. What a lease took comes back without that.
local function refundAll(rule, state, timeMs, numbers, count)
  if rule.refunds == 'leased' or not state then
    return state
  elseif rule.spanMs then
    return refundTimeline(findLive(state, timeMs, rule.spanMs), numbers, count)
  end
  state = stateAfter(rule, state, timeMs, 0)
  if not state then
    return nil
  elseif rule.rate then
    local units = 0
    for at = 3, 5 * count, 5 do
      local unit = numbers[at] * state.periodMs
      units = units + (numbers[at] % 1 == 0 and unit or math.floor(unit + 0.5))
    end
    local used = math.max(0, state.used - units)
    return used > 0 and { atMs = timeMs, used = used, periodMs = state.periodMs, rate = state.rate } or nil
  end
  -- In windows, those of one window or slice at once. What is older than all that count has left.
  local sums, times, unitMs = {}, {}, state.sliceMs or state.windowMs
  local oldestMs = state.atMs - unitMs * ((state.slices or 1) + 1)
  for at = 3, 5 * count, 5 do
    local left, takenMs = numbers[at], numbers[at + 1]
    if takenMs >= oldestMs then
      local window = rule.anchor and (takenMs >= state.atMs and 1 or 0) or math.floor(takenMs / unitMs)
      sums[window], times[window] = (sums[window] or 0) + left, takenMs
    end
  end
  if state.counts then
    local counts, live, used = state.counts, state.slices + 1, 0
    for window, sum in pairs(sums) do
      local slice = math.min(live, live - (state.atMs / unitMs - window))
      counts[slice] = counts[slice] and math.max(0, counts[slice] - sum)
    end
    for slice = 1, live do
      used = used + counts[slice]
    end
    return used > 0 and state or nil
  end
  for window, sum in pairs(sums) do
    state = state and stateAfter(rule, state, timeMs, -sum, times[window])
  end
  return state
end

-- What is still counted of what was taken at a time, in requests, of a state that is as it is now; of a pool, all that is used.
local function countTaken(rule, state, takenMs)
  if not state then
    return 0
  elseif rule.rate then
    return state.used / state.periodMs
  elseif rule.spanMs then
    return (findTaken(state, takenMs))
  elseif state.counts then
    local live = state.slices + 1
    return state.counts[math.min(live, live - (state.atMs / state.sliceMs - math.floor(takenMs / state.sliceMs)))] or 0
  elseif rule.anchor then
    return takenMs >= state.atMs and state.count or 0
  end
  return takenMs >= state.atMs and state.current or takenMs >= state.atMs - state.windowMs and state.previous or 0
end

-- The clock was set back for good, and the holds move with the state.
local function moveHolds(holds, takenBackMs, backMs)
  local numbers = readRows(holds, holds.count)
  for at = 4, 5 * holds.count, 5 do
    numbers[at], numbers[at + 1] = numbers[at] - takenBackMs, numbers[at + 1] - backMs
  end
  local moved = writeRows(holds, numbers)
  moved.lastTakenMs = holds.lastTakenMs - takenBackMs
  return moved
end

local function expiresFirst(one, other)
  return one[5] < other[5] or (one[5] == other[5] and one[6] < other[6])
end

-- The holds of which those that were taken far ahead of the clock were taken at timeMs, and last as long as they did.
local function pullHolds(holds, nowMs, timeMs)
  local numbers, list, sorted, lastTakenMs = readRows(holds, holds.count), {}, {}, -EXACT
  for index = 1, holds.count do
    local row = { (table.unpack or unpack)(numbers, 5 * index - 4, 5 * index) }
    if row[4] - nowMs > MOST_LAG_MS then
      row[4], row[5] = timeMs, row[5] - (row[4] - timeMs)
    end
    row[6], lastTakenMs = index, math.max(lastTakenMs, row[4])
    list[index] = row
  end
  table.sort(list, expiresFirst)
  for index, row in ipairs(list) do
    for place = 1, 5 do
      sorted[5 * (index - 1) + place] = row[place]
    end
  end
  local pulled = writeRows(holds, sorted)
  pulled.lastTakenMs = lastTakenMs
  return pulled
end

-- How many of the holds end at untilMs or before, by halves.
local function countUntil(holds, untilMs)
  local first, last = 1, holds.count
  while first <= last do
    local middle = math.floor((first + last) / 2)
    if readUntil(holds, middle) <= untilMs then
      first = middle + 1
    else
      last = middle - 1
    end
  end
  return last
end

local function returnExpired(rule, entry, timeMs)
  local holds = entry.holds
  if readUntil(holds, 1) > timeMs then
    return
  end
  local expired = countUntil(holds, timeMs)
  entry.state = refundAll(rule, entry.state, timeMs, readRows(holds, expired), expired)
  entry.holds = withRows(holds, holds.rows, holds.from + 40 * expired, holds.count - expired)
end

-- The holds as they are after a take: what has been refilled since they took it can no longer go back.
local function clipHolds(rule, entry, timeMs)
  local holds = entry.holds
  if rule.refunds == 'pooled' then
    local used = countTaken(rule, entry.state and stateAfter(rule, entry.state, timeMs, 0), timeMs)
    if used < holds.mostLeft then
      entry.holds = withRows(holds, holds.rows, holds.from, holds.count)
      entry.holds.mostLeft = used
    end
  end
end

-- Adds a hold behind those that end no later.
local function insertHold(entry, id, amount, left, takenMs, untilMs)
  local holds, row = entry.holds, struct.pack('<ddddd', id, amount, left, takenMs, untilMs)
  if not holds then
    entry.holds = { rows = row, from = 1, count = 1, lastTakenMs = takenMs, mostLeft = left }
    return
  end
  if left > holds.mostLeft then
    -- What clips the others must not clip this one.
    holds = writeRows(holds, readRows(holds, holds.count))
    holds.mostLeft = left
  end
  local at, last = holds.from + 40 * countUntil(holds, untilMs), holds.from + 40 * holds.count - 1
  local rows = string.sub(holds.rows, holds.from, at - 1) .. row .. string.sub(holds.rows, at, last)
  entry.holds = withRows(holds, rows, 1, holds.count + 1)
  entry.holds.lastTakenMs = math.max(holds.lastTakenMs, takenMs)
end

-- Takes out the hold of an id, of several the first to expire. Answers its numbers, and what the holds were; or nothing.
local function takeHold(entry, id)
  local holds, text = entry.holds, struct.pack('<d', id)
  local at = holds and string.find(holds.rows, text, holds.from, true)
  while at and (at - holds.from) % 40 ~= 0 do
    at = string.find(holds.rows, text, at + 1, true)
  end
  local last = holds and holds.from + 40 * holds.count - 1
  if not at or at > last then
    return nil
  end
  local _, amount, left, takenMs = readRow(holds, (at - holds.from) / 40 + 1)
  local rows = string.sub(holds.rows, holds.from, at - 1) .. string.sub(holds.rows, at + 40, last)
  entry.holds = withRows(holds, rows, 1, holds.count - 1)
  return amount, left, takenMs, holds
end

-- When a cost passes at timeMs after the first holds have gone back.
local function retryAfterRefund(rule, state, timeMs, cost, numbers, count)
  if rule.spanMs and state then
    return retryTimeline(rule, findLive(state, timeMs, rule.spanMs), timeMs, cost, numbers, count)
  end
  return (step(rule, refundAll(rule, state, timeMs, numbers, count), timeMs, cost, false))
end

-- When a cost that does not pass now passes if no one comes but holds expire, from timeMs. Looks at the 64 that expire first, 16 of a log, and after
-- those at the rule alone: never too early.
local function passesAfter(rule, entry, timeMs, cost)
  local holds, aloneMs = entry.holds, (step(rule, entry.state, timeMs, cost, false))
  if rule.refunds == 'leased' or timeMs + aloneMs <= readUntil(holds, 1) then
    return aloneMs
  end
  local least, most = 1, math.min(rule.mostHolds and 16 or 64, holds.count)
  local numbers = readRows(holds, most)
  -- A cost that passes before the next hold expires also passes after it. So the fewest that let it pass are searched by halves.
  while least < most do
    local middle = math.floor((least + most) / 2)
    local atMs = numbers[5 * middle]
    if atMs + retryAfterRefund(rule, entry.state, atMs, cost, numbers, middle) <= numbers[5 * middle + 5] then
      most = middle
    else
      least = middle + 1
    end
  end
  local atMs = numbers[5 * least]
  return atMs + retryAfterRefund(rule, entry.state, atMs, cost, numbers, least) - timeMs
end

-- The holds after the rule has changed, by what it counted of each before that: state, as it is at timeMs.
local function recountHolds(rule, counting, holds, state, timeMs)
  local numbers, mostLeft = readRows(holds, holds.count), 0
  for at = 3, 5 * holds.count, 5 do
    -- What was counted by the old rule's time and is counted no more must not go back from what is counted now.
    local counted = math.min(numbers[at], countTaken(counting, state, numbers[at + 1]))
    numbers[at], numbers[at + 1] = math.floor(counted * rule.limit / counting.limit), timeMs
    mostLeft = math.max(mostLeft, numbers[at])
  end
  local recounted = writeRows(holds, numbers)
  recounted.lastTakenMs, recounted.mostLeft = timeMs, mostLeft
  return recounted
end
