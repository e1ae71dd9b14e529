-- concurrency: at most limit at work at once; a place that nobody gives back comes back after leaseMs.
--
-- limit    how many may be at work at once, whole number >= 1
-- leaseMs  how long a place is held when nobody gives it back, in milliseconds, whole number >= 1
-- maxDebt  how far a charge may go beyond the limit, whole number >= 0, default limit
-- needs    timeline
-- holds    leased
--
-- plain #value >= 40 and #value % 16 == 8
-- valid #state >= 40 and #state % 16 == 8 and timeOf(state)
-- state concurrency@1: newest time, total, length of a lease, then pairs of time and cost, oldest first
local function step(limit, leaseMs, maxDebt, state, nowMs, cost, force, takenMs)
  return stepTimeline(limit, leaseMs, maxDebt, withoutOldest, state, nowMs, cost, force, takenMs)
end

-- @setup
local spanMs = leaseMs
