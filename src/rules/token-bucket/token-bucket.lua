-- token-bucket: a bucket that refills at a constant rate.
--
-- capacity  tokens that fit, whole number >= 1
-- refill    tokens that come back in every period, whole number >= 1
-- periodMs  length of the period in milliseconds, whole number >= 1
-- maxDebt   how many tokens a charge may take that are not there, whole number >= 0, default capacity
-- exact     (capacity + maxDebt) * periodMs
-- holds     pooled
--
-- valid #state == 16
-- state token-bucket@1: time, what is in the bucket in units of token * millisecond
local function step(capacity, refill, periodMs, maxDebt, state, nowMs, cost, force, takenMs)
  local full = capacity * periodMs
  local level = full
  if state then
    local atMs, stateLevel = struct.unpack('<dd', state)
    -- Refilling for no longer than it takes to get full keeps the product exact after any absence.
    local refillMs = math.min(math.max(0, nowMs - atMs), math.ceil((full - stateLevel) / refill))
    level = math.min(full, stateLevel + refill * refillMs)
  end
  -- A part of a request is a whole number of units, which the division that made it has blurred.
  local units = cost % 1 == 0 and cost * periodMs or math.floor(cost * periodMs + 0.5)
  local retryAfterMs = force and 0 or math.max(0, math.ceil((units - level) / refill))
  local next, returned
  if retryAfterMs == 0 then
    returned = cost < 0 and math.min(-cost, (full - level) / periodMs) or 0
    level = math.min(full, math.max(level - units, math.min(level, 0 - maxDebt * periodMs)))
    next = struct.pack('<dd', nowMs, level)
  end
  local remaining = math.max(0, math.floor(level / periodMs))
  return retryAfterMs, remaining, math.ceil((full - level) / refill), 0, next, returned
end
