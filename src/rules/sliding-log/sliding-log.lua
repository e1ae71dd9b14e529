-- sliding-log: remembers when each request came, and counts those of the last window.
--
-- limit     requests in any window, whole number >= 1
-- windowMs  length of the window in milliseconds, whole number >= 1
-- maxDebt   how far a charge may go beyond the limit, whole number >= 0, default limit
-- needs     run, timeline-view, timeline
-- holds     dated
--
-- plain #value >= 40 and #value < 4136 and #value % 16 == 8
-- full  maxDebt, spanMs = windowMs, mostHolds = 200, prefetches = true: Timeline
-- state sliding-log@1: newest time, sum before the first pair, length of the window, then pairs of time and sum, oldest first; of more than 257 pairs as sluice.lua says

-- @setup
local spanMs = windowMs
