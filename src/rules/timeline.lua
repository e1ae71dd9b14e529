-- A timeline is its newest time, its total, how long each cost counts, and pairs of time and cost, oldest first: 24 bytes, and 16 for
-- each pair.

-- Its own time, or nothing when it cannot be a timeline. To read all pairs would take longer than to decide: those are judged
-- when they are read.
local function timeOf(line)
  local atMs, total, spanMs = struct.unpack('<ddd', line)
  local newestMs, newest = struct.unpack('<dd', line, #line - 15)
  -- Before 1970 it can be by a clock that was set back.
  local isTime = newestMs == atMs and atMs % 1 == 0 and atMs >= -EXACT and atMs <= EXACT
  local isSpan = spanMs % 1 == 0 and spanMs >= 1 and spanMs <= EXACT
  local isWhole = newest % 1 == 0 and newest >= 1 and total % 1 == 0 and total <= 2 * EXACT
  return isTime and isSpan and isWhole and (newest == total or (newest < total and #line > 40)) and atMs
end

-- The pair at line[at..], which is later than afterMs and not later than latestMs.
local function pairAt(line, at, afterMs, latestMs)
  local timeMs, cost = 0, 0
  if at > 24 and at < #line then
    timeMs, cost = struct.unpack('<dd', line, at)
  end
  local isLater = timeMs % 1 == 0 and timeMs > afterMs and timeMs <= latestMs
  if not (isLater and cost % 1 == 0 and cost >= 1 and cost <= EXACT) then
    error(FOREIGN, 0)
  end
  return timeMs, cost
end

-- The clock was set back for good: every time moves by as much, so that all that was taken still counts.
local function movedBack(line, backMs)
  local atMs, total, madeMs = struct.unpack('<ddd', line)
  local moved, timeMs, cost = { struct.pack('<ddd', atMs - backMs, total, madeMs) }, -EXACT, nil
  for at = 25, #line, 16 do
    timeMs, cost = pairAt(line, at, timeMs, atMs)
    moved[#moved + 1] = struct.pack('<dd', timeMs - backMs, cost)
  end
  return table.concat(moved)
end

-- The pairs in line[from..] after giving back amount, which is less than their total. The newest of them is of atMs.
local function withoutNewest(line, from, amount, atMs)
  local at = #line - 15
  local timeMs, cost = pairAt(line, at, -EXACT, atMs)
  while cost <= amount do
    amount = amount - cost
    at = at - 16
    timeMs, cost = pairAt(line, at, -EXACT, timeMs - 1)
  end
  return line:sub(from, at - 1) .. struct.pack('<dd', timeMs, cost - amount)
end

local function withoutOldest(line, from, amount, atMs)
  local timeMs, cost = pairAt(line, from, -EXACT, atMs)
  while cost <= amount do
    amount = amount - cost
    from = from + 16
    timeMs, cost = pairAt(line, from, timeMs, atMs)
  end
  return struct.pack('<dd', timeMs, cost - amount) .. line:sub(from + 16)
end

-- The pairs in line[from..] after giving back up to amount of what was taken at takenMs, and how much that was. Times only rise.
local function withoutTaken(line, from, amount, takenMs, atMs)
  local first, last = from, #line - 15
  while first <= last do
    local at = first + 16 * math.floor((last - first) / 32)
    local timeMs, cost = pairAt(line, at, -EXACT, atMs)
    if timeMs == takenMs then
      local kept = cost > amount and struct.pack('<dd', timeMs, cost - amount) or ''
      return line:sub(from, at - 1) .. kept .. line:sub(at + 16), math.min(amount, cost)
    elseif timeMs < takenMs then
      first = at + 16
    else
      last = at - 16
    end
  end
  return line:sub(from), 0
end

-- What still counts: the line, its newest time, its total, where its first pair is, and how long each counts. What another span has
-- counted leaves when the shorter of the two says so.
local function since(state, nowMs, ownMs)
  local line, from = state, 25
  local atMs, total, madeMs = struct.unpack('<ddd', line)
  local spanMs = math.min(madeMs, ownMs)
  if atMs > nowMs then
    line, atMs = movedBack(line, atMs - nowMs), nowMs
  end
  local timeMs, taken = -EXACT, nil
  while from < #line do
    timeMs, taken = pairAt(line, from, timeMs, atMs)
    if timeMs > nowMs - spanMs then
      break
    end
    total = total - taken
    from = from + 16
  end
  -- Each pair counts at least once, and without pairs nothing counts.
  if total < (#line + 1 - from) / 16 or (from > #line and total > 0) then
    error(FOREIGN, 0)
  end
  return line, atMs, total, from, spanMs
end

-- The time of the pair with which at least amount has left, oldest first.
local function timeFreeing(line, from, amount, atMs)
  local timeMs, freed = pairAt(line, from, -EXACT, atMs)
  while freed < amount do
    local taken
    from = from + 16
    timeMs, taken = pairAt(line, from, timeMs, atMs)
    freed = freed + taken
  end
  return timeMs
end

-- One step of a rule that counts what was taken within the last ownMs, exactly. Something new makes all of a line count for that long.
local function stepTimeline(limit, ownMs, maxDebt, without, state, nowMs, cost, force, takenMs)
  local line, atMs, total, from, spanMs = '', nowMs, 0, 25, ownMs
  if state then
    line, atMs, total, from, spanMs = since(state, nowMs, ownMs)
  end
  if not force and total + cost > limit then
    local retryAfterMs = timeFreeing(line, from, cost - (limit - total), atMs) + spanMs - nowMs
    return retryAfterMs, math.max(0, limit - total), total == 0 and 0 or atMs + spanMs - nowMs, 0, 0
  end

  local before, returned = total, 0
  local pairsLeft, added = nil, ''
  if cost < 0 and takenMs then
    pairsLeft, returned = withoutTaken(line, from, -cost, takenMs, atMs)
  elseif cost < 0 then
    returned = math.min(-cost, total)
    pairsLeft = returned < total and without(line, from, returned, atMs)
  end
  total = cost < 0 and total - returned or addBounded(total, cost, limit + maxDebt)
  spanMs = total > before and ownMs or spanMs
  if total == 0 then
    return 0, limit, 0, 0, 0, nil, returned
  elseif cost < 0 then
    if total < #pairsLeft / 16 or pairsLeft == '' then
      error(FOREIGN, 0)
    end
    atMs = struct.unpack('<d', pairsLeft, #pairsLeft - 15)
  elseif total == before then
    pairsLeft = line:sub(from)
  elseif before > 0 and atMs == nowMs then
    local newest = struct.unpack('<d', line, #line - 7)
    pairsLeft, added = line:sub(from, -9), struct.pack('<d', newest + (total - before))
  else
    pairsLeft, added = line:sub(from), struct.pack('<dd', nowMs, total - before)
    atMs = nowMs
  end
  -- Joined at once: Redis hashes every byte of every string that a script makes.
  local next = struct.pack('<ddd', atMs, total, spanMs) .. pairsLeft .. added
  local nextAfterMs = timeFreeing(next, 25, math.max(1, total - limit + 1), atMs) + spanMs - nowMs
  return 0, math.max(0, limit - total), atMs + spanMs - nowMs, nextAfterMs, 0, next, returned
end

-- @read
-- The pairs from line[from] to line[last], then what was taken in this millisecond.
local line, from, last, newestMs, total, added, oldestMs = value or '', 25, 0, 0, 0, 0, nowMs
if isStored and isKnown then
  local madeMs, pairMs, pairCost
  newestMs, total, madeMs = struct.unpack('<ddd', line)
  pairMs, pairCost = struct.unpack('<dd', line, #line - 15)
  isKnown = madeMs == spanMs and newestMs == pairMs and newestMs % 1 == 0 and newestMs <= nowMs
  isKnown = isKnown and pairCost % 1 == 0 and pairCost >= 1 and total % 1 == 0 and pairCost <= total and total <= EXACT
  last = #line
  if newestMs == nowMs then
    last, added = #line - 16, pairCost
  end
  oldestMs = -1
  while isKnown and from < last do
    pairMs, pairCost = struct.unpack('<dd', line, from)
    isKnown = pairMs % 1 == 0
      and pairMs > oldestMs
      and pairMs <= newestMs
      and pairCost % 1 == 0
      and pairCost >= 1
      and pairCost <= EXACT
    oldestMs = pairMs
    if pairMs > nowMs - spanMs then
      break
    end
    total, from = total - pairCost, from + 16
  end
  -- Each pair counts at least once, and without pairs nothing counts.
  isKnown = isKnown and total >= (last + 1 - from) / 16 + added and (from < last or total == added)
  oldestMs = from < last and oldestMs or nowMs
end

-- @step
local passes = total + amount <= limit
if passes and take then
  total, added, newestMs = total + amount, added + amount, nowMs
end
local remaining, resetAfterMs, laterMs = math.max(0, limit - total), 0, 0
if total > 0 then
  local freeMs = oldestMs
  if not passes then
    -- The time of the pair with which enough has left, oldest first.
    local at, need = from, amount - (limit - total)
    freeMs = -1
    while need > 0 and at < last do
      local pairMs, pairCost = struct.unpack('<dd', line, at)
      isKnown = isKnown
        and pairMs % 1 == 0
        and pairMs > freeMs
        and pairMs <= newestMs
        and pairCost % 1 == 0
        and pairCost >= 1
        and pairCost <= EXACT
      freeMs, at, need = pairMs, at + 16, need - pairCost
    end
    if need > 0 then
      isKnown, freeMs = isKnown and need <= added, nowMs
    end
  end
  resetAfterMs, laterMs = newestMs + spanMs - nowMs, freeMs + spanMs - nowMs
end

-- @write
stored = struct.pack('<ddd', newestMs, total, spanMs)
  .. string.sub(line, from, last)
  .. struct.pack('<dd', nowMs, added)
