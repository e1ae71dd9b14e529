import { exactProduct, knownOptions, milliseconds, wholeNumber } from '../../core/check.ts'
import type { Rule } from '../../core/rule.ts'
import { debt } from '../debt.ts'
import { outliveWindow } from '../outlive.ts'
import { part, partOfDebt } from '../part.ts'
import {
  adjustSlidingWindow,
  type SlidingWindowState,
  slidingWindowCodec,
  stepSlidingWindow,
} from './sliding-window.memory.ts'

/** Options of `slidingWindow`. */
export interface SlidingWindowOptions {
  /** Requests per window, at least 1. `limit × windowMs` must stay below 2^53. */
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
 * Counts the current window in full and the one before by the share that still overlaps, rounded down: smooth, three numbers a
 * key, and the rule to start with. Evenly spaced requests at exactly the limit are never refused. An adversary who knows the clock
 * can get up to `2 × limit` into one window's length; `slidingLog` and `strictWindow` never let more than `limit` pass.
 */
export function slidingWindow(options: SlidingWindowOptions): Rule {
  knownOptions('slidingWindow()', options, ['limit', 'windowMs', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const windowMs = milliseconds('windowMs', options.windowMs)
  exactProduct('limit × windowMs', limit, windowMs)
  const parameters = { limit, windowMs, maxDebt: debt(options.maxDebt, limit, windowMs) }
  const rule: Rule<SlidingWindowState> = {
    kind: 'sliding-window',
    stateName: 'sliding-window@1',
    limit,
    parameters,
    codec: slidingWindowCodec,
    refunds: 'by-time',
    windowMs,
    replenishes: 'gradually',
    share: (instances) => {
      const maxDebt = partOfDebt(parameters.maxDebt, limit, instances)
      return slidingWindow({ limit: part(limit, instances), windowMs, maxDebt })
    },
    ...outliveWindow<typeof parameters, SlidingWindowState>({
      step: stepSlidingWindow,
      adjust: adjustSlidingWindow,
      parameters,
      readCounting: (state) =>
        state.windowMs === parameters.windowMs ? parameters : { ...parameters, windowMs: state.windowMs },
    }),
  }
  return rule
}
