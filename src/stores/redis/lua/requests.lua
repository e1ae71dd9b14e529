-- The most holds of one key at once.
local MOST_HOLDS = 1000

-- A block that is over goes with the next change.
local function dropEndedBlock(entry, nowMs)
  if entry.untilMs and entry.untilMs <= nowMs then
    setBlock(entry, nil, nil)
  end
end

-- Adds cost, negative to give back, whatever is left.
local function adjust(rule, entry, cost, nowMs, takenMs)
  local timeMs = steady(rule, entry, nowMs)
  if cost > 0 then
    clip(rule, entry, timeMs)
  end
  local _, _, resetAfterMs, _, state = rule.step(entry.state, timeMs, cost, true, takenMs)
  entry.changed = entry.changed or entry.exists or resetAfterMs > 0
  entry.counted = true
  entry.state = resetAfterMs > 0 and state or nil
  dropEndedBlock(entry, nowMs)
end

local function findHold(entry, id)
  for _, hold in ipairs(entry.holds or {}) do
    if hold.id == id then
      return hold
    end
  end
end

-- Ends a hold of which used was used. Answers whether it was there.
local function settle(rule, entry, id, used, nowMs)
  entry.leastMs = steady(rule, entry, nowMs)
  local settled = findHold(entry, id)
  if not settled then
    return false
  end
  entry.holds = mapHolds(entry.holds, function(hold)
    return hold ~= settled and hold or nil
  end)
  local rest = settled.amount - used
  if rest < 0 then
    adjust(rule, entry, -rest, nowMs)
  else
    adjust(rule, entry, -math.min(rest, settled.left), nowMs, settled.takenMs)
  end
  entry.changed = true
  return true
end

-- Lets a hold last for holdMs from now. Answers whether it was there.
local function renew(rule, entry, id, holdMs, nowMs)
  local timeMs = steady(rule, entry, nowMs)
  local renewed = findHold(entry, id)
  entry.leastMs = timeMs
  if not renewed then
    return false
  end
  local takenMs = renewed.takenMs
  if rule.holds == 'leased' then
    -- A lease counts from when it was taken: to last longer it is taken again.
    local _, _, resetAfterMs, _, released, amount = rule.step(entry.state, timeMs, -renewed.amount, true, takenMs)
    if (amount or 0) < renewed.amount then
      return false
    end
    _, _, _, _, entry.state = rule.step(resetAfterMs > 0 and released or nil, timeMs, renewed.amount, true)
    takenMs = timeMs
  end
  entry.holds = mapHolds(entry.holds, function(hold)
    return hold == renewed and withHold(hold, hold.left, takenMs, timeMs + holdMs) or hold
  end)
  entry.changed, entry.counted, entry.leastMs = true, true, nil
  dropEndedBlock(entry, nowMs)
  return true
end

-- Takes amount for a time, unless too many hold already.
local function hold(rule, entry, amount, id, holdMs, nowMs)
  entry.leastMs = steady(rule, entry, nowMs)
  if not entry.holds or #entry.holds < MOST_HOLDS then
    return judge(rule, entry, amount, nowMs, true, { id = id, amount = amount, holdMs = holdMs })
  end
  local firstMs = math.huge
  for _, other in ipairs(entry.holds) do
    firstMs = math.min(firstMs, other.untilMs - nowMs)
  end
  local allowed, remaining, retryAfterMs, resetAfterMs, waitMs = judge(rule, entry, amount, nowMs, false)
  if allowed == 1 or retryAfterMs >= 0 then
    retryAfterMs = math.max(firstMs, retryAfterMs)
  end
  return 0, remaining, retryAfterMs, resetAfterMs, allowed == 1 and 0 or waitMs, true
end
