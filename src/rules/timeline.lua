-- A timeline is its newest time, the sum before its first pair, how long each cost counts, and pairs of a time and the sum of all costs up
-- to then, oldest first: 24 bytes, and 16 for each pair. So the pair with which something leaves is found by halves.
--
-- As it is worked on: the pairs from line[from] to line[to], and then one of atMs that is not in line if added is not 0. What counts is
-- total, beyond base.
local function makeTimeline(atMs, spanMs, base, total, line, from, to, added)
  return { atMs = atMs, spanMs = spanMs, base = base, total = total, line = line, from = from, to = to, added = added }
end

local function readTimeline(value, at)
  local size = #value - at + 1
  if size < 40 or size % 16 ~= 8 then
    return nil
  end
  local atMs, base, spanMs, firstMs, first = struct.unpack('<ddddd', value, at)
  local newestMs, sum = struct.unpack('<dd', value, #value - 15)
  -- Before 1970 it can be by a clock that was set back.
  local isTime = newestMs == atMs and isWhole(atMs, -EXACT) and isWhole(firstMs, -EXACT, atMs) and isWhole(spanMs, 1)
  local isLast = size == 40 and firstMs == atMs or firstMs < atMs and first < sum
  if isTime and isLast and isWhole(base, 0) and isWhole(first, base + 1) and isWhole(sum, first) then
    return makeTimeline(atMs, spanMs, base, sum - base, value, at + 24, #value - 15, 0)
  end
end

local function writeTimeline(state, front)
  local line, added = state.line, ''
  if state.from > 1 or state.to < #line - 15 then
    line = string.sub(line, state.from, state.to + 15)
  end
  if state.added > 0 then
    added = struct.pack('<dd', state.atMs, state.base + state.total)
  end
  -- Joined at once: Redis hashes every byte of every string that a script makes.
  return front .. struct.pack('<ddd', state.atMs, state.base, state.spanMs) .. line .. added
end

-- The first pair of state whose time is later than afterMs, or whose sum is at least sum; to + 16 when there is none.
local function findPair(state, afterMs, sum)
  local line, first, last, newestMs, base = state.line, state.from, state.to, state.atMs, state.base
  local most = base + state.total
  while first <= last do
    local at = first + 16 * math.floor((last - first) / 32)
    local timeMs, costs = struct.unpack('<dd', line, at)
    if timeMs % 1 + costs % 1 ~= 0 or timeMs > newestMs or costs < base or costs > most then
      error(FOREIGN, 0)
    elseif (afterMs and timeMs > afterMs) or (sum and costs >= sum) then
      last = at - 16
    else
      first = at + 16
    end
  end
  return first
end

-- The time of the pair at line[at], and the sum up to it.
local function readPair(state, at)
  if at > state.to then
    return state.atMs, state.base + state.total
  end
  return struct.unpack('<dd', state.line, at)
end

-- The sum before the pair at line[at].
local function sumBefore(state, at)
  local _, sum = 0, state.base
  if at > state.from then
    _, sum = struct.unpack('<dd', state.line, at - 16)
  end
  return sum
end

-- The pairs from line[from] to line[to] with every time less by backMs, and every sum by less. By the hundred: one by one takes longer.
local function shiftPairs(line, from, to, backMs, less)
  if backMs == 0 and less == 0 then
    return string.sub(line, from, to + 15)
  end
  local parts = {}
  while from <= to do
    local size = math.min(100, 2 * ((to - from) / 16 + 1))
    local layout = '<' .. string.rep('d', size)
    local numbers = { struct.unpack(layout, line, from) }
    for index = 1, size, 2 do
      numbers[index], numbers[index + 1] = numbers[index] - backMs, numbers[index + 1] - less
    end
    parts[#parts + 1] = struct.pack(layout, (table.unpack or unpack)(numbers, 1, size))
    from = from + 8 * size
  end
  return table.concat(parts)
end

-- The same timeline with other pairs in its line.
local function withLine(state, line, base, total)
  return makeTimeline(state.atMs, state.spanMs, base, total, line, 1, #line - 15, state.added)
end

-- What still counts. What another span has counted leaves when the shorter of the two says so.
local function findLive(state, nowMs, ownMs)
  local spanMs, backMs = math.min(state.spanMs, ownMs), state.atMs - nowMs
  if backMs > 0 then
    -- The clock was set back for good: every time moves by as much, so that all that was taken still counts.
    state = withLine(state, shiftPairs(state.line, state.from, state.to, backMs, 0), state.base, state.total)
    state.atMs = nowMs
  end
  local live = makeTimeline(state.atMs, spanMs, 0, 0, '', 1, -15, 0)
  if state.atMs > nowMs - spanMs then
    live.from = readPair(state, state.from) > nowMs - spanMs and state.from or findPair(state, nowMs - spanMs)
    live.line, live.to, live.added, live.base = state.line, state.to, state.added, sumBefore(state, live.from)
    live.total = state.base + state.total - live.base
  end
  return live
end

-- The timeline after giving back amount, which is less than its total: of what was taken last.
local function withoutNewest(live, amount)
  local at = findPair(live, nil, live.base + live.total - amount)
  local atMs = readPair(live, at)
  local total = live.total - amount
  local added = live.base + total - sumBefore(live, at)
  return makeTimeline(atMs, live.spanMs, live.base, total, live.line, live.from, at - 16, added)
end

-- The same of what was taken first.
local function withoutOldest(live, amount)
  local base = live.base + amount
  local from = findPair(live, nil, base + 1)
  return makeTimeline(live.atMs, live.spanMs, base, live.total - amount, live.line, from, live.to, live.added)
end

-- Where the pair of a time is, and its cost; nothing when there is none.
local function findTaken(live, takenMs)
  local at = findPair(live, takenMs - 1)
  local timeMs, sum = readPair(live, at)
  if live.total > 0 and timeMs == takenMs then
    return at, sum - sumBefore(live, at)
  end
end

local function costAt(live, takenMs)
  local _, cost = findTaken(live, takenMs)
  return cost or 0
end

-- Where the pairs are that rows of holds are given back of, in the order of their times, and how much of each.
local function findPieces(live, numbers, count)
  local places, removed = {}, {}
  for row = 3, 5 * count, 5 do
    local at, cost = findTaken(live, numbers[row + 1])
    if at and numbers[row] > 0 then
      places[#places + 1] = not removed[at] and at or nil
      removed[at] = math.min(cost, (removed[at] or 0) + numbers[row])
    end
  end
  table.sort(places)
  return places, removed
end

-- The timeline after rows of holds have gone back, of what was taken at their times; nothing when nothing counts any more.
local function refundTimeline(live, numbers, count)
  local places, removed = findPieces(live, numbers, count)
  if #places == 0 then
    return live.total > 0 and live or nil
  end
  local at = places[1]
  if #places == 1 and at <= live.to and at - live.from < live.to - at and removed[at] < live.total then
    -- Near the beginning: what comes before it counts from a larger sum, and what comes behind it stays.
    local _, sum = readPair(live, at)
    local base = live.base + removed[at]
    local before = shiftPairs(live.line, live.from, at - 16, 0, -removed[at])
    local behind = sum - sumBefore(live, at) > removed[at] and at or at + 16
    return withLine(live, before .. string.sub(live.line, behind, live.to + 15), base, live.total - removed[at])
  end
  local parts, from, gone, added = {}, live.from, 0, live.added
  for _, place in ipairs(places) do
    at = place
    if at > live.to then
      added = added - removed[at]
    else
      local timeMs, sum = readPair(live, at)
      parts[#parts + 1] = shiftPairs(live.line, from, at - 16, 0, gone)
      -- The sums behind it become less. A pair of which nothing is left goes.
      gone, from = gone + removed[at], at + 16
      parts[#parts + 1] = sum - sumBefore(live, at) > removed[at] and struct.pack('<dd', timeMs, sum - gone) or ''
    end
  end
  local total = live.total - gone - (live.added - added)
  if total == 0 then
    return nil
  end
  parts[#parts + 1] = shiftPairs(live.line, from, live.to, 0, gone)
  local next = withLine(live, table.concat(parts), live.base, total)
  next.added = added
  if added == 0 then
    next.atMs = struct.unpack('<d', next.line, next.to)
  end
  return next
end

-- When a cost passes after rows of holds have gone back, without the line that has them given back.
local function retryTimeline(rule, live, nowMs, cost, numbers, count)
  local places, removed = findPieces(live, numbers, count)
  local needed = live.total + cost - rule.limit
  for _, at in ipairs(places) do
    needed = needed - removed[at]
  end
  if needed <= 0 then
    return 0
  end
  for _, at in ipairs(places) do
    if findPair(live, nil, live.base + needed) < at then
      break
    end
    -- It leaves with its time no more, so others have to.
    needed = needed + removed[at]
  end
  return readPair(live, findPair(live, nil, live.base + needed)) + live.spanMs - nowMs
end

-- The timeline with more that is taken now. Something new makes all of it count for ownMs.
local function withMore(live, nowMs, more, ownMs)
  if live.base + live.total + more > EXACT then
    -- Sums beyond would not be exact.
    local line = shiftPairs(live.line, live.from, live.to, 0, live.base)
    live = withLine(live, line, 0, live.total)
  end
  local from, to, added, line = live.from, live.to, more, live.line
  if live.atMs < nowMs and live.added > 0 then
    line = string.sub(line, from, to + 15) .. struct.pack('<dd', live.atMs, live.base + live.total)
    from, to = 1, #line - 15
  elseif live.atMs == nowMs and live.added > 0 then
    added = live.added + more
  elseif live.atMs == nowMs and live.total > 0 then
    added, to = live.base + live.total - sumBefore(live, to) + more, to - 16
  end
  return makeTimeline(nowMs, ownMs, live.base, live.total + more, line, from, to, added)
end

-- One step of a rule that counts what was taken within the last spanMs, exactly.
local function stepTimeline(rule, state, nowMs, cost, force, takenMs)
  local limit, ownMs = rule.limit, rule.spanMs
  local next = state and findLive(state, nowMs, ownMs) or makeTimeline(nowMs, ownMs, 0, 0, '', 1, -15, 0)
  local total, returned = next.total, 0
  local passes = force or total + cost <= limit
  if passes and cost < 0 then
    returned = math.min(-cost, total)
    if takenMs then
      next = refundTimeline(next, { nil, nil, -cost, takenMs }, 1)
      returned = total - (next and next.total or 0)
    elseif returned < total then
      next = rule.isOldestFirst and withoutOldest(next, returned) or withoutNewest(next, returned)
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
  local laterMs = readPair(next, findPair(next, nil, next.base + need)) + next.spanMs - nowMs
  local remaining, resetAfterMs = math.max(0, limit - total), next.atMs + next.spanMs - nowMs
  if not passes then
    return laterMs, remaining, resetAfterMs, 0, 0
  end
  return 0, remaining, resetAfterMs, laterMs, 0, next, returned
end

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
  .. struct.pack('<dd', nowMs, base + total)
