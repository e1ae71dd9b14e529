import type { Rule } from '../../core/rule.ts'
import type { RuleFunctions } from '../outlive.ts'
import { createTimeline } from '../timeline.ts'
import type { Timeline } from '../timeline-view.ts'

/** What the concurrency limit knows. */
export type ConcurrencyParameters = Readonly<Record<'limit' | 'leaseMs' | 'maxDebt', number>>

/** The functions of the concurrency limit. A refund ends the lease that is the first to expire. */
export function createConcurrency({ limit, leaseMs, maxDebt }: ConcurrencyParameters): RuleFunctions<Timeline> {
  return createTimeline({ limit, maxDebt, spanMs: leaseMs, returns: 'oldest' })
}

/** The rule but for its functions: all that a server needs which has its own. */
export function describeConcurrency(
  parameters: ConcurrencyParameters,
): Pick<Rule, 'kind' | 'stateName' | 'limit' | 'identity' | 'parameters' | 'refunds' | 'windowMs' | 'replenishes'> {
  return {
    kind: 'concurrency',
    stateName: 'concurrency@1',
    limit: parameters.limit,
    identity: JSON.stringify(parameters),
    parameters,
    refunds: 'lease',
    windowMs: undefined,
    replenishes: 'on-release',
  }
}
