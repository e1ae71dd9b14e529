-- The rule as it was when it counted a state; nothing when it was as it is.
local function readCounting(rule, state)
  local isOwn = state.windowMs == rule.windowMs and state.slices == rule.slices and state.sliceMs == rule.sliceMs
  isOwn = isOwn and state.periodMs == rule.periodMs and state.rate == rule.rate
  if isOwn and not (state.used and state.used > (rule.limit + rule.maxDebt) * rule.periodMs) then
    return nil
  end
  local counting = {}
  for name, value in pairs(rule) do
    counting[name] = value
  end
  counting.windowMs, counting.slices, counting.sliceMs = state.windowMs, state.slices, state.sliceMs
  counting.periodMs, counting.rate = state.periodMs, state.rate
  return counting
end

-- What is used of a state as if it was used now, by the rule as it is.
local function recountState(rule, counting, state, nowMs)
  if rule.recount then
    return rule.recount(rule, counting, state, nowMs)
  end
  -- Where nearly everything fits, what does not remain is used, debt included.
  local limit, _, remaining, next = counting.limit, nil, nil, nil
  counting.limit = EXACT
  _, remaining = counting.step(counting, state, nowMs, 0, true)
  counting.limit = limit
  if remaining < EXACT then
    _, _, _, _, _, next = rule.step(rule, nil, nowMs, EXACT - remaining, true)
  end
  return next
end

-- One step: what taking cost would do, or with force what adding it does; negative gives back, of what was taken at takenMs if that is given.
-- Answers retryAfterMs, remaining, resetAfterMs, nextAfterMs, delayMs, the next state, and how much was given back. On a state that other
-- parameters have counted time goes by those until something is counted. Then what is used counts as used now.
local function step(rule, state, nowMs, cost, force, takenMs)
  local counting = state and readCounting(rule, state)
  if not counting then
    return rule.step(rule, state, nowMs, cost, force, takenMs)
  end
  local _, _, freshMs = rule.step(counting, state, nowMs, 0, true)
  if freshMs == 0 then
    return rule.step(rule, nil, nowMs, cost, force)
  elseif cost > 0 and (force or rule.step(counting, state, nowMs, cost, false) == 0) then
    return rule.step(rule, recountState(rule, counting, state, nowMs), nowMs, cost, true)
  end
  return rule.step(counting, state, nowMs, cost, force, takenMs)
end

-- The state to keep after a step: none when it is as if the key had never been used.
local function stateAfter(rule, state, nowMs, cost, takenMs)
  local _, _, resetAfterMs, _, _, next, returned = step(rule, state, nowMs, cost, true, takenMs)
  return resetAfterMs > 0 and next or nil, returned or 0
end
