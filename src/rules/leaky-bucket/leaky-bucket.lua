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
-- valid #state == 32 and timeOfLevel(struct.unpack('<dddd', state))
-- state leaky-bucket@1: time, what is in the bucket in units of request * millisecond of a period, length of the period, requests that leak out in one
local function step(capacity, leak, periodMs, mode, maxWaitMs, maxDebt, state, nowMs, cost, force, takenMs)
  local waitMs = mode == 'shape' and maxWaitMs or nil
  return stepLevel(capacity, leak, periodMs, maxDebt, waitMs, false, state, nowMs, cost, force)
end
