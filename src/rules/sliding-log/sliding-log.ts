import { knownOptions, milliseconds, wholeNumber } from '../../core/check.ts'
import type { Rule } from '../../core/rule.ts'
import { parseDebt } from '../debt.ts'
import { shareLimit } from '../share.ts'
import { compactTimelineCodec, type Timeline } from '../timeline.ts'
import { createSlidingLog } from './sliding-log.memory.ts'

/** Options of `slidingLog`. */
export interface SlidingLogOptions {
  /** Requests in any window, at least 1. */
  readonly limit: number
  /** Length of the window, 1 ms to 10 years. */
  readonly windowMs: number
  /**
   * How far `charge` may go beyond the limit.
   * @default limit
   */
  readonly maxDebt?: number
}

/**
 * Remembers when each request came: exact, never more than `limit` in any window. Costs up to one entry per admitted
 * request, none for refused ones; `strictWindow` has the same ceiling at a fixed size.
 */
export function slidingLog(options: SlidingLogOptions): Rule {
  knownOptions('slidingLog()', options, ['limit', 'windowMs', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const parameters = {
    limit,
    windowMs: milliseconds('windowMs', options.windowMs),
    maxDebt: parseDebt(options.maxDebt, limit),
  }
  const rule: Rule<Timeline> = {
    kind: 'sliding-log',
    stateName: 'sliding-log@1',
    limit,
    identity: JSON.stringify(parameters),
    parameters,
    compactCodec: compactTimelineCodec,
    refunds: 'by-time',
    windowMs: parameters.windowMs,
    replenishes: 'gradually',
    mostHolds: 200,
    share: (instances) => slidingLog({ ...parameters, ...shareLimit(parameters, instances) }),
    ...createSlidingLog(parameters),
  }
  return rule
}
