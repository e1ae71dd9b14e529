import { exactProduct, knownOptions, wholeNumber } from '../../core/check.ts'
import { type Duration, readDuration } from '../../core/duration.ts'
import { clockSlots, type Rule } from '../../core/rule.ts'
import { parseDebt } from '../debt.ts'
import { outliveWindow, type WindowParameters } from '../outlive.ts'
import { shareLimit } from '../share.ts'
import {
  adjustSlidingWindow,
  type SlidingWindowState,
  slidingWindowCodec,
  stepSlidingWindow,
} from './sliding-window.memory.ts'

/** Options of `slidingWindow`. */
export interface SlidingWindowOptions {
  /** Requests per window, at least 1. `limit × window` must stay below 2^53. */
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
 * Counts the current window in full and the one before by the share that still overlaps, rounded down: smooth, four numbers a
 * key, and the rule to start with. Evenly spaced requests at exactly the limit are never refused. An adversary who knows the clock
 * can get up to `2 × limit` into one window's length; `slidingLog` and `strictWindow` never let more than `limit` pass.
 */
export function slidingWindow(options: SlidingWindowOptions): Rule {
  knownOptions('slidingWindow()', options, ['limit', 'window', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const windowMs = readDuration('window', options.window)
  exactProduct('limit × window', limit, windowMs)
  return createRule({ limit, windowMs, maxDebt: parseDebt(options.maxDebt, limit, windowMs) })
}

function createRule(parameters: WindowParameters): Rule {
  const { limit, windowMs } = parameters
  const rule: Rule<SlidingWindowState> = {
    kind: 'sliding-window',
    stateName: 'sliding-window@1',
    limit,
    identity: JSON.stringify(parameters),
    parameters,
    codec: slidingWindowCodec,
    refunds: 'by-time',
    windowMs,
    replenishes: 'gradually',
    prefetches: true,
    slots: () => clockSlots(windowMs),
    share: (instances) => createRule({ ...parameters, ...shareLimit(parameters, instances) }),
    withParameters: createRule,
    ...outliveWindow<WindowParameters, SlidingWindowState>(stepSlidingWindow, adjustSlidingWindow, parameters),
  }
  return rule
}
