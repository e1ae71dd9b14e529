-- token-bucket: a bucket that refills at a constant rate.
--
-- capacity  tokens that fit, whole number >= 1
-- refill    tokens that come back in every period, whole number >= 1
-- periodMs  length of the period in milliseconds, whole number >= 1
-- maxDebt   how many tokens a charge may take that are not there, whole number >= 0, default capacity
-- exact     (capacity + maxDebt) * periodMs
-- needs     level
-- holds     pooled
--
-- plain #value == 32
-- full  periodMs, maxDebt, rate = refill, prefetches = true: Level, recounted
-- state token-bucket@1: time, tokens used in units of token * millisecond of a period, length of the period, tokens that come back in one

-- @setup
local rate, most = refill, (capacity + maxDebt) * periodMs

-- @step
local passes = used + amount * periodMs <= capacity * periodMs
if passes and take then
  used = used + amount * periodMs
end
-- x + -x % 1 is x rounded up.
local tokens, resetAfterMs = used / periodMs, used / rate
local remaining = tokens < capacity and capacity - (tokens + -tokens % 1) or 0
resetAfterMs = resetAfterMs + -resetAfterMs % 1
-- When that passes: what was refused, or else more than remaining.
local laterMs = (used - (capacity - (passes and remaining + 1 or amount)) * periodMs) / rate
laterMs = used > 0 and laterMs + -laterMs % 1 or 0

-- @late
laterMs = math.max(laterMs, lastMs - 1 - nowMs + math.ceil(math.max(0, lent + amount - capacity) * periodMs / rate))
