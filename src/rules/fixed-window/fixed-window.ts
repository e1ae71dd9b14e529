import { knownOptions, oneOf, wholeNumber } from '../../core/check.ts'
import { type Duration, readDuration } from '../../core/duration.ts'
import { clockSlots, type Rule } from '../../core/rule.ts'
import { parseDebt } from '../debt.ts'
import { outliveWindow } from '../outlive.ts'
import { shareLimit } from '../share.ts'
import {
  adjustFixedWindow,
  type FixedWindowParameters,
  type FixedWindowState,
  fixedWindowCodec,
  stepFixedWindow,
} from './fixed-window.memory.ts'

/** Options of `fixedWindow`. */
export interface FixedWindowOptions {
  /** Requests per window, at least 1. */
  readonly limit: number
  /** Length of a window, 1 ms to 10 years. */
  readonly window: Duration
  /**
   * `'clock'`: windows start at multiples of `window`, for all keys at once.
   * `'first-hit'`: a key's window opens with its first request.
   * @default 'clock'
   */
  readonly anchor?: 'clock' | 'first-hit'
  /**
   * How far `charge` may go beyond the limit.
   * @default limit
   */
  readonly maxDebt?: number
}

/**
 * Counts requests inside windows that do not overlap: the cheapest rule, and the right one for quotas ("1,000 a day").
 * Around the edge of two windows up to twice the limit can pass in one window's length.
 */
export function fixedWindow(options: FixedWindowOptions): Rule {
  knownOptions('fixedWindow()', options, ['limit', 'window', 'anchor', 'maxDebt'])
  const { anchor = 'clock' } = options
  const limit = wholeNumber('limit', options.limit, 1)
  return createRule({
    limit,
    windowMs: readDuration('window', options.window),
    anchor: oneOf('anchor', anchor, ['clock', 'first-hit']),
    maxDebt: parseDebt(options.maxDebt, limit),
  })
}

function createRule(parameters: FixedWindowParameters): Rule {
  const { limit, windowMs, anchor } = parameters
  const rule: Rule<FixedWindowState> = {
    kind: 'fixed-window',
    stateName: 'fixed-window@1',
    limit,
    identity: JSON.stringify(parameters),
    parameters,
    codec: fixedWindowCodec,
    refunds: 'by-time',
    windowMs,
    replenishes: 'at-window-end',
    prefetches: true,
    // A window that opens with its first request must not open with what was spent before it.
    slots: ({ atMs }) =>
      anchor === 'clock' ? clockSlots(windowMs) : { startMs: atMs, lengthMs: windowMs, mayRunOn: false },
    share: (instances) => createRule({ ...parameters, ...shareLimit(parameters, instances) }),
    withParameters: createRule,
    ...outliveWindow<FixedWindowParameters, FixedWindowState>(stepFixedWindow, adjustFixedWindow, parameters),
  }
  return rule
}
