-- The time to decide at. A key's time never runs backwards: a small step back of the clock is waited out at the key's own time.
-- After a large one the entry moves to the clock's time with its level kept, and that is stored even by a refusal or a peek: if
-- it were not, a client that is always refused would start over at every request and never get out.
local function steady(rule, entry, nowMs)
  -- How far a key's own time may be ahead of the clock before the clock counts as set back for good.
  local mostLagMs = 60000
  local timeMs = math.max(nowMs, entry.state and struct.unpack('<d', entry.state) or 0)
  if timeMs - nowMs > mostLagMs or entry.holds or (entry.blockAtMs or 0) - nowMs > mostLagMs then
    timeMs = holding().moveBack(rule, entry, nowMs, mostLagMs)
  end
  if entry.leastMs then
    -- A second look in one decision is not earlier than the first.
    timeMs, entry.leastMs = math.max(timeMs, entry.leastMs), nil
  end
  if entry.holds then
    holding().returnExpired(rule, entry, timeMs)
  end
  if entry.state then
    -- Counted by other parameters, and fresh sooner by these: as that is used now, it is stored even by a refusal or a peek.
    local _, _, _, _, _, _, _, _, sooner = rule.step(entry.state, timeMs, 0, true)
    if sooner then
      entry.state, entry.changed, entry.counted = sooner, true, true
    end
  end
  return timeMs
end

-- Takes cost if rule and block allow it and it is to be taken. A refusal changes nothing.
-- Answers allowed, remaining, nextAfterMs or else retryAfterMs, resetAfterMs, waitMs.
local function judge(rule, entry, cost, nowMs, take, newHold)
  local timeMs = steady(rule, entry, nowMs)
  local blockedMs = entry.untilMs and math.max(0, entry.untilMs - nowMs) or 0
  local never = cost > rule.limit
  local retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, state =
    rule.step(entry.state, timeMs, never and 0 or cost, false)
  local passes = retryAfterMs == 0
  local allowed = passes and not never and blockedMs == 0
  if allowed and take then
    if entry.holds then
      holding().clip(rule, entry, timeMs)
    end
    if newHold then
      holding().add(entry, holding().with(newHold, newHold.amount, timeMs, timeMs + newHold.holdMs))
    end
    if entry.blockAtMs then
      -- What passes proves that a block is over.
      entry.blockAtMs, entry.untilMs = nil, nil
    end
    entry.state, entry.changed, entry.counted = resetAfterMs > 0 and state or nil, true, true
  elseif passes then
    -- The step has counted a cost that is not taken after all: show the state as it stays.
    local _
    _, remaining, resetAfterMs, nextAfterMs = rule.step(entry.state, timeMs, 0, true)
  elseif entry.holds and not never then
    retryAfterMs = holding().passesAfter(rule, entry, timeMs, cost)
  end
  if entry.holds then
    resetAfterMs = holding().freshAfter(rule, entry, timeMs)
    if allowed and remaining < rule.limit then
      nextAfterMs = holding().passesAfter(rule, entry, timeMs, remaining + 1)
    end
  end
  -- Rules count from the key's own time; callers count from the clock's.
  local lagMs = timeMs - nowMs
  resetAfterMs = math.max(blockedMs, resetAfterMs == 0 and 0 or resetAfterMs + lagMs)
  entry.resetAfterMs, entry.timeMs = resetAfterMs, timeMs
  if allowed then
    return 1, remaining, nextAfterMs == 0 and 0 or nextAfterMs + lagMs, resetAfterMs, delayMs
  end
  retryAfterMs = never and -1 or math.max(blockedMs, passes and 0 or retryAfterMs + lagMs)
  return 0, blockedMs > 0 and 0 or remaining, retryAfterMs, resetAfterMs, blockedMs
end
