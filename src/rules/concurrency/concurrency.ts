import { knownOptions, milliseconds, wholeNumber } from '../../core/check.ts'
import type { Rule } from '../../core/rule.ts'
import { debt } from '../debt.ts'
import { part, partOfDebt } from '../part.ts'
import { compactTimelineCodec, type Timeline } from '../timeline.ts'
import { adjustConcurrency, stepConcurrency } from './concurrency.memory.ts'

/** Options of `concurrency`. */
export interface ConcurrencyOptions {
  /** How many may be at work at once, at least 1. */
  readonly limit: number
  /** How long a place is held when nobody gives it back, 1 ms to 10 years: longer than the longest work. */
  readonly leaseMs: number
  /**
   * How far `charge` may go beyond the limit.
   * @default limit
   */
  readonly maxDebt?: number
}

/**
 * At most `limit` at work at once: `consume` takes a place, `giveBack` returns it, and a place that nobody returns
 * (a process that died) comes back by itself after `leaseMs`. A give-back ends the lease that is the first to expire,
 * so the leases that stay never end before the work of their holders could.
 */
export function concurrency(options: ConcurrencyOptions): Rule {
  knownOptions('concurrency()', options, ['limit', 'leaseMs', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const parameters = {
    limit,
    leaseMs: milliseconds('leaseMs', options.leaseMs),
    maxDebt: debt(options.maxDebt, limit),
  }
  const rule: Rule<Timeline> = {
    kind: 'concurrency',
    stateName: 'concurrency@1',
    limit,
    parameters,
    compactCodec: compactTimelineCodec,
    refunds: 'lease',
    windowMs: undefined,
    replenishes: 'on-release',
    share: (instances) => {
      const { leaseMs } = parameters
      return concurrency({
        limit: part(limit, instances),
        leaseMs,
        maxDebt: partOfDebt(parameters.maxDebt, limit, instances),
      })
    },
    step: (state, nowMs, cost) => stepConcurrency(parameters, state, nowMs, cost),
    adjust: (state, nowMs, amount, takenMs) => adjustConcurrency(parameters, state, nowMs, amount, takenMs),
  }
  return rule
}
