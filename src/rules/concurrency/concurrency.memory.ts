import type { RuleFunctions } from '../outlive.ts'
import { createTimeline } from '../timeline.ts'
import type { Timeline } from '../timeline-view.ts'

interface Parameters {
  readonly limit: number
  readonly leaseMs: number
  readonly maxDebt: number
}

/** The functions of the concurrency limit. A refund ends the lease that is the first to expire. */
export function createConcurrency({ limit, leaseMs, maxDebt }: Parameters): RuleFunctions<Timeline> {
  return createTimeline({ limit, maxDebt, spanMs: leaseMs, returns: 'oldest' })
}
