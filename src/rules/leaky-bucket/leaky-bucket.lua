-- leaky-bucket: a bucket that fills with requests and leaks at a constant rate.
--
-- capacity   requests that fit, whole number >= 1
-- leak       requests that leak out in every period, whole number >= 1
-- periodMs   length of the period in milliseconds, whole number >= 1
-- mode       what fits passes at once or after waitMs, so that the outflow is even: police or shape, default police
-- maxWaitMs  longest wait in mode shape, whole number >= 0, default math.ceil(capacity * periodMs / leak)
-- maxDebt    how far a charge may overfill the bucket, whole number >= 0, default capacity
-- exact      (capacity + maxDebt) * periodMs
-- needs      level
-- holds      pooled
--
-- plain #value == 32
-- full  periodMs, maxDebt, rate = leak, maxWaitMs = mode == 'shape' and maxWaitMs or nil, prefetches = mode == 'police': Level, recounted
-- state leaky-bucket@1: time, what is in the bucket in units of request * millisecond of a period, length of the period, requests that leak out in one

-- @setup
local rate, most, isShape = leak, (capacity + maxDebt) * periodMs, mode == 'shape'

-- @step
local delayMs = isShape and math.ceil(used / rate) or 0
local passes = used + amount * periodMs <= capacity * periodMs and delayMs <= maxWaitMs
if passes and take then
  used = used + amount * periodMs
end
local level, resetAfterMs = used / periodMs, used / rate -- x + -x % 1 is x rounded up
local remaining = level < capacity and capacity - (level + -level % 1) or 0
resetAfterMs = resetAfterMs + -resetAfterMs % 1
local queue = isShape and math.floor((maxWaitMs * rate - used) / periodMs) + 1
remaining = isShape and math.max(0, math.min(remaining, queue)) or remaining
-- When that passes: what was refused, or else more than remaining.
local laterMs = (used - (capacity - (passes and remaining + 1 or amount)) * periodMs) / rate
laterMs = used > 0 and laterMs + -laterMs % 1 or 0
laterMs = isShape and used > 0 and math.max(0, laterMs, resetAfterMs - maxWaitMs) or laterMs
