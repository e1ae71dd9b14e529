import { knownOptions, wholeNumber } from '../../core/check.ts'
import { type Duration, readDuration } from '../../core/duration.ts'
import type { Rule } from '../../core/rule.ts'
import { parseDebt } from '../debt.ts'
import { shareLimit } from '../share.ts'
import { compactTimelineCodec } from '../timeline.ts'
import type { Timeline } from '../timeline-view.ts'
import { type ConcurrencyParameters, createConcurrency, describeConcurrency } from './concurrency.memory.ts'

/** Options of `concurrency`. */
export interface ConcurrencyOptions {
  /** How many may be at work at once, at least 1. */
  readonly limit: number
  /** How long a permit lasts without a release, 1 ms to 10 years: longer than the longest work. */
  readonly lease: Duration
  /**
   * How far `charge` may go beyond the limit.
   * @default limit
   */
  readonly maxDebt?: number
}

/**
 * At most `limit` at once: `consume` takes a permit, `refund` returns it, and a permit that is not returned expires after `lease`.
 * A refund ends the lease that is the first to expire, so the leases that stay never end before the work of their holders could.
 */
export function concurrency(options: ConcurrencyOptions): Rule {
  knownOptions('concurrency()', options, ['limit', 'lease', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const leaseMs = readDuration('lease', options.lease)
  return createRule({ limit, leaseMs, maxDebt: parseDebt(options.maxDebt, limit) })
}

function createRule(parameters: ConcurrencyParameters): Rule {
  const rule: Rule<Timeline> = {
    ...describeConcurrency(parameters),
    compactCodec: compactTimelineCodec,
    share: (instances) => createRule({ ...parameters, ...shareLimit(parameters, instances) }),
    withParameters: createRule,
    ...createConcurrency(parameters),
  }
  return rule
}
