import { knownOptions, milliseconds, wholeNumber } from '../../core/check.ts'
import type { Rule } from '../../core/rule.ts'
import { debt } from '../debt.ts'
import { part, partOfDebt } from '../part.ts'
import { compactTimelineCodec, type Timeline } from '../timeline.ts'
import { adjustSlidingLog, stepSlidingLog } from './sliding-log.memory.ts'

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
    maxDebt: debt(options.maxDebt, limit),
  }
  const rule: Rule<Timeline> = {
    kind: 'sliding-log',
    stateName: 'sliding-log@1',
    limit,
    parameters,
    compactCodec: compactTimelineCodec,
    refunds: 'by-time',
    windowMs: parameters.windowMs,
    replenishes: 'gradually',
    share: (instances) => {
      const { windowMs } = parameters
      return slidingLog({
        limit: part(limit, instances),
        windowMs,
        maxDebt: partOfDebt(parameters.maxDebt, limit, instances),
      })
    },
    step: (state, nowMs, cost) => stepSlidingLog(parameters, state, nowMs, cost),
    adjust: (state, nowMs, amount, takenMs) => adjustSlidingLog(parameters, state, nowMs, amount, takenMs),
  }
  return rule
}
