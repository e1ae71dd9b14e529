-- leaky-bucket: a bucket that fills with requests and leaks at a constant rate.
--
-- capacity   requests that fit, whole number >= 1
-- leak       requests that leak out in every period, whole number >= 1
-- periodMs   length of the period in milliseconds, whole number >= 1
-- mode       what fits passes at once or after waitMs, so that the outflow is even: police or shape, default police
-- maxWaitMs  longest wait in mode shape, whole number >= 0, default math.ceil(capacity * periodMs / leak)
-- maxDebt    how far a charge may overfill the bucket, whole number >= 0, default capacity
-- exact      (capacity + maxDebt) * periodMs
-- holds      pooled
--
-- valid #state == 16
-- state leaky-bucket@1: time, what is in the bucket in units of request * millisecond
local function step(capacity, leak, periodMs, mode, maxWaitMs, maxDebt, state, nowMs, cost, force, takenMs)
  local level = 0
  if state then
    local atMs, stateLevel = struct.unpack('<dd', state)
    -- Leaking for no longer than it takes to run dry keeps the product exact after any absence.
    local leakMs = math.min(math.max(0, nowMs - atMs), math.ceil(stateLevel / leak))
    level = math.max(0, stateLevel - leak * leakMs)
  end
  -- A part of a request is a whole number of units, which the division that made it has blurred.
  local units = cost % 1 == 0 and cost * periodMs or math.floor(cost * periodMs + 0.5)
  local full = capacity * periodMs
  local queueMs = mode == 'shape' and math.ceil(level / leak) or 0
  local retryAfterMs = force and 0 or math.max(0, math.ceil((units - (full - level)) / leak), queueMs - maxWaitMs)
  local next, returned
  if retryAfterMs == 0 then
    returned = cost < 0 and math.min(-cost, level / periodMs) or 0
    level = math.max(0, math.min(level + units, math.max(level, (capacity + maxDebt) * periodMs)))
    next = struct.pack('<dd', nowMs, level)
  end
  local remaining = math.floor((full - level) / periodMs)
  if mode == 'shape' then
    remaining = math.min(remaining, math.floor((maxWaitMs * leak - level) / periodMs) + 1)
  end
  return retryAfterMs, math.max(0, remaining), math.ceil(level / leak), queueMs, next, returned
end
