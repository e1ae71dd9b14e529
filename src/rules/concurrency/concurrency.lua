-- concurrency: at most limit at work at once; a permit that is not released expires after leaseMs.
--
-- limit    how many may be at work at once, whole number >= 1
-- leaseMs  how long a permit lasts without a release, in milliseconds, whole number >= 1
-- maxDebt  how far a charge may go beyond the limit, whole number >= 0, default limit
-- needs    run, timeline-view, timeline
-- holds    leased
--
-- plain #value >= 40 and #value < 4136 and #value % 16 == 8
-- full  maxDebt, spanMs = leaseMs, isOldestFirst = true: Timeline
-- state concurrency@1: newest time, sum before the first pair, length of a lease, then pairs of time and sum, oldest first; of more than 257 pairs as sluice.lua says

-- @setup
local spanMs = leaseMs
