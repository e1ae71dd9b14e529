-- The state after holds have gone back. What a lease took comes back without that.
local function refundAll(rule, state, timeMs, lefts, takens, count)
  if rule.refunds == 'leased' or not state then
    return state
  elseif rule.spanMs then
    return refundTimeline(findLive(state, timeMs, rule.spanMs), lefts, takens, count)
  end
  state = stateAfter(rule, state, timeMs, 0)
  if not state then
    return nil
  elseif rule.rate then
    local units = 0
    for row = 1, count do
      local unit = lefts[row] * state.periodMs
      units = units + (lefts[row] % 1 == 0 and unit or math.floor(unit + 0.5))
    end
    local used = math.max(0, state.used - units)
    return used > 0 and { atMs = timeMs, used = used, periodMs = state.periodMs, rate = state.rate } or nil
  end
  -- In windows, those of one window or slice at once. What is older than all that count has left.
  local sums, times, unitMs = {}, {}, state.sliceMs or state.windowMs
  local oldestMs = state.atMs - unitMs * ((state.slices or 1) + 1)
  for row = 1, count do
    local left, takenMs = lefts[row], takens[row]
    if takenMs >= oldestMs then
      local window = rule.anchor and (takenMs >= state.atMs and 1 or 0) or math.floor(takenMs / unitMs)
      sums[window], times[window] = (sums[window] or 0) + left, takenMs
    end
  end
  if state.counts then
    local counts, live = state.counts, state.slices + 1
    for window, sum in pairs(sums) do
      local slice = math.min(live, live - (state.atMs / state.sliceMs - window))
      local returned = math.min(counts[slice] or 0, sum)
      counts[slice], state.total = counts[slice] and counts[slice] - returned, state.total - returned
    end
    return state.total > 0 and state or nil
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
  local moved, takens, untils =
    copyHolds(holds), readColumn(holds, TAKENS, holds.count), readColumn(holds, UNTILS, holds.count)
  for row = 1, holds.count do
    takens[row], untils[row] = takens[row] - takenBackMs, untils[row] - backMs
  end
  setColumn(moved, TAKENS, takens)
  setColumn(moved, UNTILS, untils)
  moved.lastTakenMs = holds.lastTakenMs - takenBackMs
  return moved
end

-- The rows in the order of their times, and those of one time as they were.
local function orderRows(times, count)
  local sorted, first, next, order = {}, {}, {}, {}
  for row = count, 1, -1 do
    local timeMs = times[row]
    next[row] = first[timeMs]
    sorted[#sorted + 1] = not next[row] and timeMs or nil
    first[timeMs] = row
  end
  table.sort(sorted)
  for _, timeMs in ipairs(sorted) do
    local row = first[timeMs]
    while row do
      order[#order + 1], row = row, next[row]
    end
  end
  return order
end

-- The holds of which those that were taken far ahead of the clock were taken at timeMs, and last as long as they did.
local function pullHolds(holds, nowMs, timeMs)
  local pulled, takens, untils =
    copyHolds(holds), readColumn(holds, TAKENS, holds.count), readColumn(holds, UNTILS, holds.count)
  pulled.lastTakenMs = -EXACT
  for row = 1, holds.count do
    local takenMs = takens[row]
    if takenMs - nowMs > MOST_LAG_MS then
      takens[row], untils[row] = timeMs, untils[row] - (takenMs - timeMs)
    end
    pulled.lastTakenMs = math.max(pulled.lastTakenMs, takens[row])
  end
  local order = orderRows(untils, holds.count)
  for column = IDS, UNTILS do
    local numbers = column == TAKENS and takens or column == UNTILS and untils or readColumn(holds, column, holds.count)
    local sorted = {}
    for place = 1, holds.count do
      sorted[place] = numbers[order[place]]
    end
    setColumn(pulled, column, sorted)
  end
  return pulled
end

-- How many of the first holds were taken in a few runs of a timeline.
local function countInFewRuns(state, takens, count)
  local seen, size = {}, 0
  for row = 1, count do
    local index = findRun(state, takens[row])
    size = seen[index] and size or size + 1
    seen[index] = true
    if size > MOST_CHANGED_RUNS then
      return row - 1
    end
  end
  return count
end

-- Holds that have expired go back. Where too many runs of a long timeline would change, only the first of them, and the entry is unfinished.
local function returnExpired(rule, entry, timeMs)
  local holds, state = entry.holds, entry.state
  if readUntil(holds, 1) > timeMs then
    return
  end
  local expired = countUntil(holds, timeMs)
  local lefts, takens = readTaken(holds, expired)
  if state and state.runs and rule.refunds == 'dated' then
    local some = countInFewRuns(state, takens, expired)
    expired, entry.isUnfinished = some, some < expired
  end
  entry.state, entry.holds = refundAll(rule, state, timeMs, lefts, takens, expired), nil
  if expired < holds.count then
    entry.holds = copyHolds(holds)
    entry.holds.count = holds.count - expired
    for column = IDS, UNTILS do
      entry.holds.ats[column] = holds.ats[column] + 8 * expired
    end
  end
end

-- The holds as they are after a take: what has been refilled since they took it can no longer go back.
local function clipHolds(rule, entry, timeMs)
  local holds = entry.holds
  if rule.refunds == 'pooled' then
    local used = countTaken(rule, entry.state and stateAfter(rule, entry.state, timeMs, 0), timeMs)
    if used < holds.mostLeft then
      entry.holds = copyHolds(holds)
      entry.holds.mostLeft = used
    end
  end
end

-- Adds a hold, in the place of the one in a row if that is given.
local function insertHold(entry, row, id, amount, left, takenMs, untilMs)
  local holds, numbers = entry.holds, { id, amount, left, takenMs, untilMs }
  if not holds then
    local texts = {}
    for column = IDS, UNTILS do
      texts[column] = struct.pack('<d', numbers[column])
    end
    entry.holds = { texts = texts, ats = { 1, 1, 1, 1, 1 }, count = 1, lastTakenMs = takenMs, mostLeft = left }
    return
  end
  if left > holds.mostLeft then
    -- What clips the others must not clip this one.
    local lefts = readTaken(holds, holds.count)
    holds = copyHolds(holds)
    setColumn(holds, LEFTS, lefts)
    holds.mostLeft = left
  end
  entry.holds = replaceHold(holds, row, numbers)
  entry.holds.lastTakenMs = math.max(holds.lastTakenMs, takenMs)
end

-- When a cost passes at timeMs after the first holds have gone back.
local function retryAfterRefund(rule, state, timeMs, cost, lefts, takens, count, order)
  if rule.spanMs and state then
    return retryTimeline(rule, findLive(state, timeMs, rule.spanMs), timeMs, cost, lefts, takens, count, order)
  elseif state and state.counts then
    return retryStrictWindow(rule, state, timeMs, cost, lefts, takens, count, order)
  end
  return (step(rule, refundAll(rule, state, timeMs, lefts, takens, count), timeMs, cost, false))
end

-- When a cost that does not pass now passes if no one comes but holds expire, from timeMs; by the rule alone it is after aloneMs. Looks at the 64
-- that expire first, 16 of a log, and after those at the rule alone: never too early.
local function passesAfter(rule, entry, timeMs, cost, aloneMs)
  local holds = entry.holds
  if rule.refunds == 'leased' or timeMs + aloneMs <= readUntil(holds, 1) then
    return aloneMs
  end
  local least, most = 1, math.min(rule.mostHolds and 16 or 64, holds.count)
  local lefts, takens = readTaken(holds, most)
  local untils = readColumn(holds, UNTILS, most)
  local order = (rule.spanMs or rule.slices) and orderRows(takens, most)
  -- A cost that passes before the next hold expires also passes after it. So the fewest that let it pass are searched by halves.
  while least < most do
    local middle = math.floor((least + most) / 2)
    local atMs = untils[middle]
    if atMs + retryAfterRefund(rule, entry.state, atMs, cost, lefts, takens, middle, order) <= untils[middle + 1] then
      most = middle
    else
      least = middle + 1
    end
  end
  local atMs = untils[least]
  return atMs + retryAfterRefund(rule, entry.state, atMs, cost, lefts, takens, least, order) - timeMs
end

-- The holds after the rule has changed, by what it counted of each before that: state, as it is at timeMs.
local function recountHolds(rule, counting, holds, state, timeMs)
  local recounted, mostLeft, lefts, takens = copyHolds(holds), 0, readTaken(holds, holds.count)
  for row = 1, holds.count do
    -- What was counted by the old rule's time and is counted no more must not go back from what is counted now.
    local counted = math.min(lefts[row], countTaken(counting, state, takens[row]))
    lefts[row] = math.floor(counted * rule.limit / counting.limit)
    takens[row], mostLeft = timeMs, math.max(mostLeft, lefts[row])
  end
  setColumn(recounted, LEFTS, lefts)
  setColumn(recounted, TAKENS, takens)
  recounted.lastTakenMs, recounted.mostLeft = timeMs, mostLeft
  return recounted
end
