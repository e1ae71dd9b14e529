-- A level is a time, what is used of a bucket then in units of request * millisecond, the period of those units, and the rate: how many
-- requests come back in every period.
local function readLevel(value, at)
  if #value - at == 31 then
    local atMs, used, periodMs, rate = struct.unpack('<dddd', value, at)
    if isWhole(atMs, 0) and isWhole(used, 0) and isWhole(periodMs, 1) and isWhole(rate, 1) then
      return { atMs = atMs, used = used, periodMs = periodMs, rate = rate }
    end
  end
end

local function writeLevel(state)
  return struct.pack('<dddd', state.atMs, state.used, state.periodMs, state.rate)
end

local function countUsed(state, nowMs)
  -- Coming back for no longer than until nothing is used keeps the product exact after any absence.
  local backMs = math.min(math.max(0, nowMs - state.atMs), math.ceil(state.used / state.rate))
  return math.max(0, state.used - state.rate * backMs)
end

-- What is used of a level as if it was used now, by the parameters of rule.
local function recountLevel(rule, counting, state, nowMs)
  local used, periodMs, madeMs = countUsed(state, nowMs), rule.periodMs, counting.periodMs
  -- Whole requests are exact. A part of one is rounded up, to no more than a whole one.
  local whole = math.floor(used / madeMs)
  local part = math.min(periodMs, math.ceil((used - whole * madeMs) * periodMs / madeMs))
  local most = (rule.limit + rule.maxDebt) * periodMs
  return { atMs = nowMs, used = math.min(most, whole * periodMs + part), periodMs = periodMs, rate = rule.rate }
end

-- One step of a bucket; with maxWaitMs it queues.
local function stepLevel(rule, state, nowMs, cost, force)
  local capacity, rate, periodMs, maxWaitMs = rule.limit, rule.rate, rule.periodMs, rule.maxWaitMs
  local used = state and countUsed(state, nowMs) or 0
  local queueMs = maxWaitMs and math.ceil(used / rate) or 0
  local fullMs = math.ceil((used - (capacity - cost) * periodMs) / rate)
  local retryAfterMs = force and 0 or math.max(0, fullMs, queueMs - (maxWaitMs or 0))
  local next, returned = nil, 0
  if retryAfterMs == 0 then
    -- A part of a request is a whole number of units, which the division that made it has blurred.
    local units = cost % 1 == 0 and cost * periodMs or math.floor(cost * periodMs + 0.5)
    returned = cost < 0 and math.min(-cost, used / periodMs) or 0
    used = math.max(0, math.min(used + units, math.max(used, (capacity + rule.maxDebt) * periodMs)))
    next = { atMs = nowMs, used = used, periodMs = periodMs, rate = rate }
  end
  local remaining, resetAfterMs, nextAfterMs = capacity - math.ceil(used / periodMs), math.ceil(used / rate), 0
  if maxWaitMs then
    remaining = math.min(remaining, math.floor((maxWaitMs * rate - used) / periodMs) + 1)
    -- Longer only right after the rate has changed.
    queueMs = math.min(queueMs, maxWaitMs)
  end
  remaining = math.max(0, remaining)
  if used > 0 then
    local moreMs = math.ceil((used - (capacity - remaining - 1) * periodMs) / rate)
    nextAfterMs = math.max(0, moreMs, maxWaitMs and resetAfterMs - maxWaitMs or 0)
  end
  return retryAfterMs, remaining, resetAfterMs, nextAfterMs, queueMs, next, returned
end

-- @read
local stateMs, used, madeMs, madeRate = nowMs, 0, periodMs, rate
if isStored and isKnown then
  stateMs, used, madeMs, madeRate = struct.unpack('<dddd', value)
  isKnown = madeMs == periodMs and madeRate == rate and used % 1 == 0 and used >= 0 and used <= most
  isKnown = isKnown and stateMs % 1 == 0 and stateMs >= 0 and stateMs <= nowMs
  -- What comes back is multiplied only where something stays used, and so exactly after any absence.
  used = nowMs - stateMs < used / rate and used - rate * (nowMs - stateMs) or 0
end
used = used + lent * periodMs

-- @write
stored = struct.pack('<dddd', nowMs, used - lent * periodMs, periodMs, rate)
