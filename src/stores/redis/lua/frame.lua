-- How far a key's own time may be ahead of the clock before the clock counts as set back for good.
local MOST_LAG_MS = 60000

local function setBlock(entry, atMs, untilMs)
  entry.changed = entry.changed or entry.blockAtMs ~= atMs
  entry.blockAtMs, entry.untilMs = atMs, untilMs
end

-- The clock was set back for good: what is far ahead moves by as much as it is. Answers the time to decide at.
local function moveBack(rule, entry, nowMs)
  if entry.blockAtMs and entry.blockAtMs - nowMs > MOST_LAG_MS then
    setBlock(entry, nowMs, nowMs + entry.untilMs - entry.blockAtMs)
  end
  local timeMs, stateBackMs = nowMs, 0
  local atMs = entry.state and struct.unpack('<d', entry.state) or nowMs
  if atMs - nowMs > MOST_LAG_MS then
    local _, _, resetAfterMs, _, moved = rule.step(entry.state, nowMs, 0, true)
    entry.state, entry.changed, entry.counted = resetAfterMs > 0 and moved or nil, true, true
    stateBackMs = atMs - nowMs
  else
    timeMs = math.max(atMs, nowMs)
  end
  entry.holds = entry.holds
    and mapHolds(entry.holds, function(hold)
      local backMs = stateBackMs
      if hold.takenMs - backMs - nowMs > MOST_LAG_MS then
        backMs, entry.changed, entry.counted = hold.takenMs - nowMs, true, true
      end
      return backMs == 0 and hold or withHold(hold, hold.left, hold.takenMs - backMs, hold.untilMs - backMs)
    end)
  return timeMs
end

-- The time to decide at. A key's time never runs backwards: a small step back of the clock is waited out at the key's own time.
-- After a large one the entry moves to the clock's time with its level kept, and that is stored even by a refusal or a peek: if
-- it were not, a client that is always refused would start over at every request and never get out.
local function steady(rule, entry, nowMs)
  -- A second look in one decision is not earlier than the first.
  local timeMs = math.max(moveBack(rule, entry, nowMs), entry.leastMs or 0)
  entry.leastMs = nil
  if entry.holds then
    returnExpired(rule, entry, timeMs)
  end
  return timeMs
end

-- Takes cost if rule and block allow it and it is to be taken. A refusal changes nothing.
-- Answers allowed, remaining, retryAfterMs, resetAfterMs, waitMs.
local function judge(rule, entry, cost, nowMs, take, newHold)
  local timeMs = steady(rule, entry, nowMs)
  local blockedMs = entry.untilMs and math.max(0, entry.untilMs - nowMs) or 0
  local never = cost > rule.limit
  local retryAfterMs, remaining, resetAfterMs, delayMs, state =
    rule.step(entry.state, timeMs, never and 0 or cost, false)
  local passes = retryAfterMs == 0
  local allowed = passes and not never and blockedMs == 0
  if allowed and take then
    clip(rule, entry, timeMs)
    if newHold then
      local added = withHold(newHold, newHold.amount, timeMs, timeMs + newHold.holdMs)
      entry.holds = withAdded(entry.holds, added)
    end
    -- What passes proves that a block is over.
    entry.state, entry.blockAtMs, entry.untilMs = resetAfterMs > 0 and state or nil, nil, nil
    entry.changed, entry.counted = true, true
  elseif passes then
    -- The step has counted a cost that is not taken after all: show the state as it stays.
    local _
    _, remaining, resetAfterMs = rule.step(entry.state, timeMs, 0, true)
  elseif entry.holds and not never then
    retryAfterMs = passesAfter(rule, entry, timeMs, cost)
  end
  if entry.holds then
    resetAfterMs = freshWithHolds(rule, entry, timeMs)
  end
  -- Rules count from the key's own time; callers count from the clock's.
  local lagMs = timeMs - nowMs
  resetAfterMs = math.max(blockedMs, resetAfterMs == 0 and 0 or resetAfterMs + lagMs)
  entry.resetAfterMs = resetAfterMs
  if allowed then
    return 1, remaining, 0, resetAfterMs, delayMs
  end
  retryAfterMs = never and -1 or math.max(blockedMs, passes and 0 or retryAfterMs + lagMs)
  return 0, blockedMs > 0 and 0 or remaining, retryAfterMs, resetAfterMs, blockedMs
end
