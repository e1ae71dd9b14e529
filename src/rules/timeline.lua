-- The timeline of what was taken first, total of it.
local function keepOldest(live, total)
  local runs, last, before = live.runs, #live.runs, live.total - live.newest
  if total > before then
    return makeTimeline(live.atMs, live.spanMs, total - before, total, runs, live.first)
  end
  while total <= before do
    before, last = before - runs[last].sum, last - 1
  end
  local run = loadRun(runs[last + 1])
  local at = findPair(run, nil, run.base + total - before - 1)
  local sum = sumBefore(run, at) - run.base
  local kept = copyRuns(runs, live.first, last)
  if at > run.from then
    kept[#kept + 1] = makeRun(string.sub(run.text, run.from, at - 1), run.base, sum, run.aheadMs, run.place)
  end
  return makeTimeline(readTime(run, at), live.spanMs, total - before - sum, total, kept, 1)
end

-- The timeline without the first amount of what was taken, which is not all.
local function removeOldest(live, amount)
  local runs, first, total = live.runs, live.first, live.total - amount
  while runs[first] and runs[first].sum <= amount do
    amount, first = amount - runs[first].sum, first + 1
  end
  if not runs[first] then
    return makeTimeline(live.atMs, live.spanMs, total, total, {}, 1)
  end
  local run, rest = loadRun(runs[first]), copyRuns(runs, first, #runs)
  rest[1] = withoutFront(run, findPair(run, nil, run.base + amount), run.base + amount)
  return makeTimeline(live.atMs, live.spanMs, live.newest, total, rest, 1)
end

-- The timeline after amounts have gone back, of what was taken at their times; nothing when nothing counts any more.
local function refundTimeline(live, lefts, takens, count)
  local removed, changed, runs = {}, {}, {}
  for row = 1, count do
    local takenMs = takens[row]
    removed[takenMs], changed[findRun(live, takenMs)] = (removed[takenMs] or 0) + lefts[row], true
  end
  local newest = math.max(0, live.newest - (removed[live.atMs] or 0))
  local total = newest
  for index = live.first, #live.runs do
    local run = live.runs[index]
    local rest = changed[index] and copyRun(loadRun(run), removed) or not changed[index] and run or nil
    runs[#runs + 1], total = rest, total + (rest and rest.sum or 0)
  end
  if total == 0 then
    return nil
  end
  local rest = makeTimeline(live.atMs, live.spanMs, newest, total, runs, 1, live.base)
  return newest > 0 and rest or keepOldest(rest, total)
end

-- The times that the amounts of the first count rows go back of, and how much of each. In this order of rows what was taken first comes first.
local function findPieces(live, lefts, takens, count, order)
  local times, removed = {}, {}
  for _, row in ipairs(order) do
    if row <= count then
      local takenMs = takens[row]
      times[#times + 1] = not removed[takenMs] and takenMs or nil
      removed[takenMs] = (removed[takenMs] or 0) + lefts[row]
    end
  end
  for _, timeMs in ipairs(times) do
    removed[timeMs] = math.min(removed[timeMs], findTaken(live, timeMs))
  end
  return times, removed
end

-- When a cost passes after amounts have gone back, without the timeline that has them given back.
local function retryTimeline(rule, live, nowMs, cost, lefts, takens, count, order)
  local times, removed = findPieces(live, lefts, takens, count, order)
  local needed = live.total + cost - rule.limit
  for _, timeMs in ipairs(times) do
    needed = needed - removed[timeMs]
  end
  if needed <= 0 then
    return 0
  end
  for _, timeMs in ipairs(times) do
    if findFreeing(live, needed) < timeMs then
      break
    end
    -- It leaves with its time no more, so others have to.
    needed = needed + removed[timeMs]
  end
  return findFreeing(live, needed) + live.spanMs - nowMs
end

-- One step of a rule that counts what was taken within the last spanMs, exactly.
local function stepTimeline(rule, state, nowMs, cost, force, takenMs)
  local limit, ownMs = rule.limit, rule.spanMs
  local next = state and findLive(state, nowMs, ownMs) or makeTimeline(nowMs, ownMs, 0, 0, {}, 1)
  local total, returned = next.total, 0
  local passes = force or total + cost <= limit
  if passes and cost < 0 then
    returned = math.min(-cost, total)
    if takenMs then
      next = refundTimeline(next, { -cost }, { takenMs }, 1)
      returned = total - (next and next.total or 0)
    elseif returned < total then
      next = rule.isOldestFirst and removeOldest(next, returned) or keepOldest(next, total - returned)
    end
    total = total - returned
  elseif passes then
    total = addBounded(total, cost, limit + rule.maxDebt)
    next = total > next.total and withMore(next, nowMs, total - next.total, ownMs) or next
  end
  if total == 0 then
    return 0, limit, 0, 0, 0, nil, returned
  end
  -- When that passes: what was refused, or else more than remaining.
  local need = passes and math.max(1, total - limit + 1) or cost - (limit - total)
  local laterMs = findFreeing(next, need) + next.spanMs - nowMs
  local remaining, resetAfterMs = math.max(0, limit - total), next.atMs + next.spanMs - nowMs
  if not passes then
    return laterMs, remaining, resetAfterMs, 0, 0
  end
  return 0, remaining, resetAfterMs, laterMs, 0, next, returned
end

-- @get
local read = #KEYS == 1 and redis.call or redis.pcall

-- @value
-- What a short timeline has, and no more of a long one. Nothing is an empty text, and an error has no length either.
local value = read('GETRANGE', key, '0', '4159')
value = #value > 0 and value

-- @missing
isMissing = redis.call('EXISTS', key) == 0

-- @read
-- The pairs from line[from] to line[last], then what was taken in this millisecond. What counts is total, beyond base.
local line, from, last, newestMs, base, total, added, oldestMs, oldest = value or '', 25, 9, 0, 0, 0, 0, nowMs, 0
if isStored and isKnown then
  local madeMs, firstMs, first, lastMs, sum
  newestMs, base, madeMs, firstMs, first = struct.unpack('<ddddd', line)
  lastMs, sum = struct.unpack('<dd', line, #line - 15)
  isKnown = madeMs == spanMs and newestMs == lastMs and newestMs % 1 + firstMs % 1 + base % 1 + first % 1 + sum % 1 == 0
  isKnown = isKnown and base >= 0 and first > base and sum + limit <= EXACT and newestMs <= nowMs
  isKnown = isKnown and (#line == 40 and firstMs == newestMs or firstMs >= 0 and firstMs < newestMs and first < sum)
  last, oldestMs, oldest, total = #line - 15, firstMs, first, sum - base
  if isKnown and newestMs <= nowMs - spanMs then
    from, base, total = last + 16, 0, 0
  elseif isKnown and firstMs <= nowMs - spanMs then
    -- By halves: the first that still counts is after line[from], and not after line[high].
    local high = last
    while high - from > 16 do
      local at = from + 16 * math.floor((high - from) / 32)
      local pairMs, pairSum = struct.unpack('<dd', line, at)
      isKnown = isKnown and pairMs % 1 + pairSum % 1 == 0 and pairMs > firstMs and pairMs < newestMs and pairSum < sum
      if pairMs > nowMs - spanMs then
        high = at
      else
        from, first = at, pairSum
      end
    end
    isKnown = isKnown and first > base
    from, base, total, oldestMs, oldest = high, first, sum - first, struct.unpack('<dd', line, high)
  end
  if total > 0 and newestMs == nowMs then
    local before = last > from and struct.unpack('<d', line, last - 8) or base
    last, added = last - 16, sum - before
    isKnown = isKnown and before % 1 == 0 and before >= base and added > 0
  end
  oldestMs = from <= last and oldestMs or nowMs
end
total = total + lent

-- @step
local passes = total + amount <= limit
if passes and take then
  total, added, newestMs = total + amount, added + amount, nowMs
end
local remaining, resetAfterMs, laterMs = math.max(0, limit - total), 0, 0
if total > 0 then
  local freeMs = oldestMs
  local need = base + amount - (limit - total)
  if not passes and (from > last or oldest < need) then
    -- The time of the pair with which enough has left. By halves, as above.
    local low, high = from - 16, last + 16
    while high - low > 16 do
      local at = low + 16 * math.floor((high - low) / 32)
      local pairMs, pairSum = struct.unpack('<dd', line, at)
      isKnown = isKnown and pairMs % 1 + pairSum % 1 == 0 and pairMs >= 0 and pairMs <= newestMs and pairSum > base
      isKnown = isKnown and pairSum <= base + total
      low, high = pairSum < need and at or low, pairSum < need and high or at
    end
    freeMs = nowMs
    if high <= last then
      freeMs = struct.unpack('<d', line, high)
    end
  end
  resetAfterMs, laterMs = newestMs + spanMs - nowMs, freeMs + spanMs - nowMs
end

-- @write
stored = struct.pack('<ddd', newestMs, base, spanMs)
  .. string.sub(line, from, last + 15)
  .. struct.pack('<dd', nowMs, base + total - lent)
