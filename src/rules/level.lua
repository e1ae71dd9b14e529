-- A level is a time, what is used of a bucket then in units of request * millisecond, the period of those units, and the rate: how many
-- requests come back in every period.

-- Its time, or nothing when it cannot be a level.
local function timeOfLevel(atMs, used, periodMs, rate)
  local isTime = atMs % 1 == 0 and atMs >= 0 and atMs <= EXACT
  local isUsed = used % 1 == 0 and used >= 0 and used <= EXACT
  local isPeriod = periodMs % 1 == 0 and periodMs >= 1 and periodMs <= EXACT
  return isTime and isUsed and isPeriod and rate % 1 == 0 and rate >= 1 and rate <= EXACT and atMs
end

-- One step of a bucket; with maxWaitMs it queues. isTheirs when the period and the rate are those of the level.
local function stepLevel(capacity, rate, periodMs, maxDebt, maxWaitMs, isTheirs, state, nowMs, cost, force)
  local used, most = 0, (capacity + maxDebt) * periodMs
  if state then
    local atMs, stateUsed, madeMs, madeRate = struct.unpack('<dddd', state)
    -- Coming back for no longer than until nothing is used keeps the product exact after any absence.
    local backMs = math.min(math.max(0, nowMs - atMs), math.ceil(stateUsed / madeRate))
    used = math.max(0, stateUsed - madeRate * backMs)
    if not isTheirs and (madeMs ~= periodMs or madeRate ~= rate or stateUsed > most) then
      local function theirs(...)
        return stepLevel(capacity, madeRate, madeMs, maxDebt, maxWaitMs, true, ...)
      end
      local function mine(...)
        return stepLevel(capacity, rate, periodMs, maxDebt, maxWaitMs, true, ...)
      end
      -- Whole requests are exact. A part of one is rounded up, to no more than a whole one.
      local whole = math.floor(used / madeMs)
      local part = math.min(periodMs, math.ceil((used - whole * madeMs) * periodMs / madeMs))
      local recounted = struct.pack('<dddd', nowMs, math.min(most, whole * periodMs + part), periodMs, rate)
      return stepOutlived(theirs, mine, recounted, state, nowMs, cost, force)
    end
  end
  local queueMs = maxWaitMs and math.ceil(used / rate) or 0
  local fullMs = math.ceil((used - (capacity - cost) * periodMs) / rate)
  local retryAfterMs = force and 0 or math.max(0, fullMs, queueMs - (maxWaitMs or 0))
  local next, returned
  if retryAfterMs == 0 then
    -- A part of a request is a whole number of units, which the division that made it has blurred.
    local units = cost % 1 == 0 and cost * periodMs or math.floor(cost * periodMs + 0.5)
    returned = cost < 0 and math.min(-cost, used / periodMs) or 0
    used = math.max(0, math.min(used + units, math.max(used, most)))
    next = struct.pack('<dddd', nowMs, used, periodMs, rate)
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
local used = 0
if isStored and isKnown then
  local stateMs, madeMs, madeRate
  stateMs, used, madeMs, madeRate = struct.unpack('<dddd', value)
  isKnown = madeMs == periodMs and madeRate == rate and used % 1 == 0 and used >= 0 and used <= most
  isKnown = isKnown and stateMs % 1 == 0 and stateMs >= 0 and stateMs <= nowMs
  -- Coming back for no longer than until nothing is used keeps the product exact after any absence.
  local backMs, emptyMs = nowMs - stateMs, used / rate
  emptyMs = emptyMs + -emptyMs % 1
  used = backMs < emptyMs and used - rate * backMs or math.max(0, used - rate * emptyMs)
end

-- @write
stored = struct.pack('<dddd', nowMs, used, periodMs, rate)
