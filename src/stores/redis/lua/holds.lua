-- Gives back what holds took. What a lease took comes back by itself.
local function returned(rule, state, holds, timeMs)
  if rule.holds == 'leased' then
    return state
  end
  for _, hold in ipairs(holds) do
    if not state then
      return nil
    end
    local _, _, resetAfterMs, _, next = rule.step(state, timeMs, -hold.left, true, hold.takenMs)
    state = resetAfterMs > 0 and next or nil
  end
  return state
end

-- The holds for which keep answers a hold: the same one or another.
local function mapHolds(holds, keep)
  local kept = {}
  for _, hold in ipairs(holds) do
    kept[#kept + 1] = keep(hold)
  end
  return #kept > 0 and kept or nil
end

local function withHold(hold, left, takenMs, untilMs)
  return { id = hold.id, amount = hold.amount, left = left, takenMs = takenMs, untilMs = untilMs }
end

local function withAdded(holds, hold)
  local added = {}
  for index, other in ipairs(holds or {}) do
    added[index] = other
  end
  added[#added + 1] = hold
  return added
end

local function returnExpired(rule, entry, timeMs)
  local expired = {}
  entry.holds = mapHolds(entry.holds, function(hold)
    if hold.untilMs > timeMs then
      return hold
    end
    expired[#expired + 1] = hold
  end)
  entry.state = returned(rule, entry.state, expired, timeMs)
end

-- The holds as they are after a take: what has been refilled since they took it can no longer go back.
local function clip(rule, entry, timeMs)
  if not entry.holds or rule.holds ~= 'pooled' then
    return
  end
  entry.holds = mapHolds(entry.holds, function(hold)
    local _, _, _, _, _, left = rule.step(entry.state, timeMs, -hold.left, true, hold.takenMs)
    return withHold(hold, left or 0, hold.takenMs, hold.untilMs)
  end)
end

-- When a refused cost passes if nobody comes but holds expire, from timeMs.
local function passesAfter(rule, entry, timeMs, cost)
  local state, atMs, pending = entry.state, timeMs, {}
  if rule.holds ~= 'leased' then
    pending = mapHolds(entry.holds, function(hold)
      return hold
    end)
    table.sort(pending, function(one, other)
      return one.untilMs < other.untilMs
    end)
  end
  for _, hold in ipairs(pending) do
    local passesMs = atMs + rule.step(state, atMs, cost, false)
    if passesMs <= hold.untilMs then
      return passesMs - timeMs
    end
    atMs = hold.untilMs
    state = returned(rule, state, { hold }, atMs)
  end
  return atMs + rule.step(state, atMs, cost, false) - timeMs
end

-- Time until all holds have expired and what they gave back is fresh.
local function freshWithHolds(rule, entry, timeMs)
  local lastMs = timeMs
  for _, hold in ipairs(entry.holds) do
    lastMs = math.max(lastMs, hold.untilMs)
  end
  local emptied, resetAfterMs, _ = returned(rule, entry.state, entry.holds, timeMs), 0, nil
  if emptied then
    _, _, resetAfterMs = rule.step(emptied, timeMs, 0, true)
  end
  return math.max(lastMs - timeMs, resetAfterMs)
end
