import type { RuleFunctions, WindowParameters } from '../outlive.ts'
import { createTimeline } from '../timeline.ts'
import type { Timeline } from '../timeline-view.ts'

/** The functions of the sliding log. A refund removes what was taken last. */
export function createSlidingLog({ limit, windowMs, maxDebt }: WindowParameters): RuleFunctions<Timeline> {
  return createTimeline({ limit, maxDebt, spanMs: windowMs, returns: 'newest' })
}
