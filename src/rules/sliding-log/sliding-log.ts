import { knownOptions, wholeNumber } from '../../core/check.ts'
import { type Duration, readDuration } from '../../core/duration.ts'
import type { Rule } from '../../core/rule.ts'
import { parseDebt } from '../debt.ts'
import type { WindowParameters } from '../outlive.ts'
import { shareLimit } from '../share.ts'
import { compactTimelineCodec } from '../timeline.ts'
import type { Timeline } from '../timeline-view.ts'
import { createSlidingLog } from './sliding-log.memory.ts'

/** Options of `slidingLog`. */
export interface SlidingLogOptions {
  /** Requests in any window, at least 1. */
  readonly limit: number
  /** Length of the window, 1 ms to 10 years. */
  readonly window: Duration
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
  knownOptions('slidingLog()', options, ['limit', 'window', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const windowMs = readDuration('window', options.window)
  return createRule({ limit, windowMs, maxDebt: parseDebt(options.maxDebt, limit) })
}

function createRule(parameters: WindowParameters): Rule {
  const { limit, windowMs } = parameters
  const rule: Rule<Timeline> = {
    kind: 'sliding-log',
    stateName: 'sliding-log@1',
    limit,
    identity: JSON.stringify(parameters),
    parameters,
    compactCodec: compactTimelineCodec,
    refunds: 'by-time',
    windowMs,
    replenishes: 'gradually',
    prefetches: true,
    mostHolds: 200,
    share: (instances) => createRule({ ...parameters, ...shareLimit(parameters, instances) }),
    withParameters: createRule,
    ...createSlidingLog(parameters),
  }
  return rule
}
