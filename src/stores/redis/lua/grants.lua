-- Grants: units that processes spend without asking. Each has three numbers: its id, its amount, and when it ends. Until then all of them count
-- as taken at the time of every decision, and from then on as taken in the last millisecond before it. Before the list are their sum, times
-- before and after which none ends, and when the key is fresh at the latest. So a decision reads the list only when one may have ended. The
-- list starts at text[at].
local function makeGrants(text, at, count, sum, firstMs, lastMs, freshMs)
  local grants = { text = text, at = at, count = count, sum = sum }
  grants.firstMs, grants.lastMs, grants.freshMs = firstMs, lastMs, freshMs
  return grants
end

local function readGrants(value, at, count)
  local sum, firstMs, lastMs, freshMs = struct.unpack('<dddd', value, at)
  local isRight = isWhole(sum, count) and isWhole(firstMs, 1) and isWhole(lastMs, firstMs)
  if not (isRight and isWhole(freshMs, lastMs, 4 * EXACT)) then
    error(FOREIGN, 0)
  end
  return makeGrants(value, at + 32, count, sum, firstMs, lastMs, freshMs)
end

-- The list as a text.
local function cutGrants(grants, first, last)
  return string.sub(grants.text, grants.at + 24 * (first - 1), grants.at + 24 * last - 1)
end

local function writeGrants(grants)
  local mark = -grants.count - 0.75
  local front = struct.pack('<ddddd', mark, grants.sum, grants.firstMs, grants.lastMs, grants.freshMs)
  return front .. cutGrants(grants, 1, grants.count)
end

-- The grants one by one.
local function listGrants(grants)
  local numbers, list = readNumbers(grants.text, grants.at, 3 * grants.count), {}
  for place = 1, 3 * grants.count, 3 do
    local id, amount, endMs = numbers[place], numbers[place + 1], numbers[place + 2]
    if not (isWhole(id, 1) and isWhole(amount, 1) and isWhole(endMs, 1, 2 * EXACT)) then
      error(FOREIGN, 0)
    end
    list[#list + 1] = { id = id, amount = amount, endMs = endMs }
  end
  return list
end

local function endsBefore(one, other)
  return one.endMs < other.endMs
end

-- The grants of a list; nothing when it is empty.
local function packGrants(list, freshMs)
  local numbers, sum, firstMs, lastMs = {}, 0, math.huge, 0
  for place, grant in ipairs(list) do
    numbers[3 * place - 2], numbers[3 * place - 1], numbers[3 * place] = grant.id, grant.amount, grant.endMs
    sum, firstMs, lastMs = sum + grant.amount, math.min(firstMs, grant.endMs), math.max(lastMs, grant.endMs)
  end
  return #list > 0 and makeGrants(packNumbers(numbers, 3 * #list), 1, #list, sum, firstMs, lastMs, freshMs) or nil
end

-- The grants with one more.
local function addGrant(rule, entry, id, amount, endMs)
  local grants, sum, firstMs, lastMs = entry.grants, amount, endMs, endMs
  local text, freshMs = struct.pack('<ddd', id, amount, endMs), 0
  if grants then
    text, sum, freshMs = cutGrants(grants, 1, grants.count) .. text, grants.sum + amount, grants.freshMs
    firstMs, lastMs = math.min(grants.firstMs, endMs), math.max(grants.lastMs, endMs)
  end
  -- As if all units were spent at the last end.
  local _, _, leftMs = step(rule, entry.state, lastMs - 1, sum, true)
  freshMs = math.max(freshMs, lastMs, lastMs - 1 + leftMs)
  return makeGrants(text, 1, #text / 24, sum, firstMs, lastMs, freshMs)
end

-- Whether there is a grant of an id, and the grants without it: nothing when none is left.
local function removeGrant(grants, id)
  local text = struct.pack('<d', id)
  local at = grants and string.find(grants.text, text, grants.at, true)
  while at and (at - grants.at) % 24 ~= 0 do
    at = string.find(grants.text, text, at + 1, true)
  end
  local row = at and (at - grants.at) / 24 + 1
  if not row or row > grants.count then
    return false, grants
  elseif grants.count == 1 then
    return true, nil
  end
  local rest = cutGrants(grants, 1, row - 1) .. cutGrants(grants, row + 1, grants.count)
  local sum = grants.sum - struct.unpack('<d', grants.text, at + 8)
  return true, makeGrants(rest, 1, grants.count - 1, sum, grants.firstMs, grants.lastMs, grants.freshMs)
end

-- The clock was set back by backMs for good. A grant lasts for no more than a minute, so none ends after latestMs.
local function moveGrants(grants, backMs, latestMs)
  local list = listGrants(grants)
  for _, grant in ipairs(list) do
    grant.endMs = math.min(grant.endMs - backMs, latestMs)
  end
  return packGrants(list, grants.freshMs - math.max(backMs, grants.lastMs - latestMs))
end

-- The units of the grants that have ended become a part of the state, before anything is counted at timeMs: time must not run backwards.
local function foldEnded(rule, entry, timeMs)
  if entry.grants.lastMs - timeMs > LONGEST_GRANT_MS then
    entry.grants = moveGrants(entry.grants, 0, timeMs + LONGEST_GRANT_MS)
    entry.changed, entry.counted = true, true
  end
  if entry.grants.firstMs > timeMs then
    return
  end
  local live, ended = {}, {}
  for _, grant in ipairs(listGrants(entry.grants)) do
    local list = grant.endMs <= timeMs and ended or live
    list[#list + 1] = grant
  end
  table.sort(ended, endsBefore)
  for _, grant in ipairs(ended) do
    if entry.holds then
      -- As any take does: what has been refilled by then can no longer go back.
      clipHolds(rule, entry, grant.endMs - 1)
    end
    entry.state = stateAfter(rule, entry.state, grant.endMs - 1, grant.amount)
  end
  entry.grants, entry.changed, entry.counted = packGrants(live, entry.grants.freshMs), true, true
end

-- The state with the units of all live grants taken now: what a decision looks at.
local function countLive(rule, entry, timeMs)
  return entry.grants and stateAfter(rule, entry.state, timeMs, entry.grants.sum) or entry.state
end

-- When the window or slice starts that counts what is taken at a time.
local function findSlotStart(rule, state, timeMs)
  local startMs = rule.anchor == 'first-hit' and state.atMs or 0
  return startMs + math.floor((timeMs - startMs) / rule.slotMs) * rule.slotMs
end

-- When a cost that does not pass now does at the latest, from timeMs: as if all units were spent when the last grant ends, and no request came.
-- When they are spent now, it passes after retryAfterMs.
local function passesBesideGrants(rule, entry, timeMs, cost, retryAfterMs)
  local atMs = entry.grants.lastMs - 1
  -- What is spent in one slot counts alike.
  atMs = rule.slotMs and findSlotStart(rule, countLive(rule, entry, timeMs), atMs) or atMs
  if atMs <= timeMs then
    return retryAfterMs
  end
  return atMs - timeMs + step(rule, countLive(rule, entry, atMs), atMs, cost, false)
end

-- What the process that asked may spend after its request was taken: its amount, and when it ends. Nothing where there is none.
local function sizeGrant(rule, entry, operation, free)
  local need, want, holdMs = operation.amount, operation.want, operation.holdMs
  local live, timeMs = 1 + (entry.grants and entry.grants.count or 0), entry.timeMs
  if not rule.prefetches or live > MOST_GRANTS then
    return nil
  end
  local most = math.min(want - need, free, math.max(operation.soon - need, math.floor(free / (2 * live))))
  local lifeMs = math.min(holdMs, math.max(operation.soonMs, math.ceil(holdMs * (need + most) / want)))
  local endMs = timeMs + lifeMs
  if rule.slotMs then
    -- What ends at once may run into the next window or slice of the clock. Then it counts in both.
    local slotEndMs = findSlotStart(rule, entry.state, timeMs) + rule.slotMs
    local mayRunOn = rule.anchor ~= 'first-hit' and slotEndMs < timeMs + lifeMs / 10
    endMs = mayRunOn and endMs or math.min(endMs, slotEndMs)
  end
  -- What ends early is spent in less time.
  local amount = math.min(most, math.ceil(most * (endMs - timeMs) / lifeMs))
  if amount >= 1 and endMs - timeMs >= LEAST_GRANT_MS then
    return amount, endMs
  end
end
