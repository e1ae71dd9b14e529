-- Holds: each has an id, an amount, what is left of that to go back, when it was taken, and until when it lasts.
local function readHolds(value, at, count)
  local holds = {}
  for index = 1, count do
    local id, amount, left, takenMs, untilMs = struct.unpack('<ddddd', value, at + (index - 1) * 40)
    -- What is left of a hold may be a part, and clocks that were set back have times before 1970.
    local isRight = isWhole(id, 1) and isWhole(amount, 1) and left >= 0 and left <= EXACT and isWhole(takenMs, -EXACT)
    if not (isRight and isWhole(untilMs, takenMs + 1, 2 * EXACT)) then
      error(FOREIGN, 0)
    end
    holds[index] = { id = id, amount = amount, left = left, takenMs = takenMs, untilMs = untilMs }
  end
  return holds
end

local function writeHolds(holds)
  local packed = { struct.pack('<d', -#holds - 0.5) }
  for index, hold in ipairs(holds) do
    packed[index + 1] = struct.pack('<ddddd', hold.id, hold.amount, hold.left, hold.takenMs, hold.untilMs)
  end
  return table.concat(packed)
end

local function copyHold(hold, left, takenMs, untilMs)
  return { id = hold.id, amount = hold.amount, left = left, takenMs = takenMs, untilMs = untilMs }
end

-- Gives back what holds took. What a lease took comes back by itself.
local function giveBack(rule, state, holds, timeMs)
  if rule.refunds == 'leased' then
    return state
  end
  for _, hold in ipairs(holds) do
    state = state and stateAfter(rule, state, timeMs, -hold.left, hold.takenMs)
  end
  return state
end

local function moveHolds(holds, takenBackMs, backMs)
  local moved = {}
  for index, hold in ipairs(holds) do
    moved[index] = copyHold(hold, hold.left, hold.takenMs - takenBackMs, hold.untilMs - backMs)
  end
  return moved
end

-- Holds that were taken far ahead of the clock were taken now. Answers the latest time of all: the key was there when a hold was taken,
-- also if nothing else tells of that any more.
local function catchUpHolds(entry, nowMs, timeMs)
  local caught, latestMs = {}, timeMs
  for index, hold in ipairs(entry.holds) do
    local takenMs = hold.takenMs
    if takenMs - nowMs > MOST_LAG_MS then
      hold = copyHold(hold, hold.left, timeMs, hold.untilMs - (takenMs - timeMs))
      entry.changed, entry.counted = true, true
    end
    caught[index], latestMs = hold, math.max(latestMs, hold.takenMs)
  end
  entry.holds = caught
  return latestMs
end

local function returnExpired(rule, entry, timeMs)
  local expired, live = {}, {}
  for _, hold in ipairs(entry.holds) do
    local list = hold.untilMs <= timeMs and expired or live
    list[#list + 1] = hold
  end
  if #expired > 0 then
    entry.holds = #live > 0 and live or nil
    entry.state = giveBack(rule, entry.state, expired, timeMs)
  end
end

-- The holds as they are after a take: what has been refilled since they took it can no longer go back.
local function clipHolds(rule, entry, timeMs)
  if rule.refunds ~= 'pooled' then
    return
  end
  local _, most = stateAfter(rule, entry.state, timeMs, -EXACT)
  local clipped = {}
  for index, hold in ipairs(entry.holds) do
    clipped[index] = hold.left <= most and hold or copyHold(hold, most, hold.takenMs, hold.untilMs)
  end
  entry.holds = clipped
end

local function addHold(entry, hold, timeMs)
  local holds = {}
  for index, other in ipairs(entry.holds or {}) do
    holds[index] = other
  end
  holds[#holds + 1] = copyHold(hold, hold.amount, timeMs, timeMs + hold.holdMs)
  entry.holds = holds
end

-- When a refused cost passes if no one comes but holds expire, from timeMs.
local function passesAfter(rule, entry, timeMs, cost)
  local state, atMs, pending = entry.state, timeMs, {}
  for index, hold in ipairs(rule.refunds ~= 'leased' and entry.holds or {}) do
    pending[index] = hold
  end
  table.sort(pending, function(one, other)
    return one.untilMs < other.untilMs
  end)
  for _, hold in ipairs(pending) do
    local passesMs = atMs + step(rule, state, atMs, cost, false)
    if passesMs <= hold.untilMs then
      return passesMs - timeMs
    end
    atMs = hold.untilMs
    state = giveBack(rule, state, { hold }, atMs)
  end
  return atMs + step(rule, state, atMs, cost, false) - timeMs
end

-- Time until all holds have expired and what they gave back is fresh.
local function freshAfter(rule, entry, timeMs)
  local lastMs, emptied = timeMs, giveBack(rule, entry.state, entry.holds, timeMs)
  for _, hold in ipairs(entry.holds) do
    lastMs = math.max(lastMs, hold.untilMs)
  end
  local _, _, resetAfterMs = step(rule, emptied, timeMs, 0, true)
  return math.max(lastMs - timeMs, resetAfterMs)
end

local function countHolds(entry)
  return entry.holds and #entry.holds or 0
end

local function findHold(entry, id)
  for index, hold in ipairs(entry.holds or {}) do
    if hold.id == id then
      return index, hold
    end
  end
end

-- The first time at which a hold ends.
local function firstUntil(entry)
  local firstMs = math.huge
  for _, hold in ipairs(entry.holds) do
    firstMs = math.min(firstMs, hold.untilMs)
  end
  return firstMs
end

-- Leaves out the hold in a place, or puts another one there.
local function replaceHold(entry, place, hold)
  local holds = {}
  for index, other in ipairs(entry.holds) do
    if index ~= place then
      holds[#holds + 1] = other
    elseif hold then
      holds[#holds + 1] = hold
    end
  end
  entry.holds = #holds > 0 and holds or nil
end

-- The holds after the rule has changed, from what was counted before that.
local function recountHolds(rule, counting, entry, state, timeMs)
  local recounted = {}
  for index, hold in ipairs(entry.holds) do
    -- What was counted by the old rule's time and is counted no more must not go back from what is counted now.
    local _, returned = stateAfter(counting, state, timeMs, -hold.left, hold.takenMs)
    recounted[index] = copyHold(hold, math.floor(returned * rule.limit / counting.limit), timeMs, hold.untilMs)
  end
  entry.holds = recounted
end
