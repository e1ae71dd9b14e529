import { exactProduct, knownOptions, milliseconds, wholeNumber } from '../../core/check.ts'
import type { Rule, RuleState, StateCells } from '../../core/rule.ts'
import { debt } from '../debt.ts'
import { stepSlidingWindow } from './sliding-window.memory.ts'

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

/** The counts of the window that started at `atMs` and of the one before it. */
export interface SlidingWindowState extends RuleState {
  readonly current: number
  readonly previous: number
}

/**
 * Counts the current window in full and the one before by the share that still overlaps: smooth, three numbers a key, and the
 * rule to start with. An adversary who knows the clock can get up to `2 × limit − 1` into one window's length;
 * `slidingLog` and `strictWindow` never let more than `limit` pass.
 */
export function slidingWindow(options: SlidingWindowOptions): Rule<SlidingWindowState> {
  knownOptions('slidingWindow()', options, ['limit', 'windowMs', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const windowMs = milliseconds('windowMs', options.windowMs)
  exactProduct('limit × windowMs', limit, windowMs)
  const parameters = { limit, windowMs, maxDebt: debt(options.maxDebt, limit, windowMs) }
  return {
    kind: 'sliding-window',
    stateName: 'sliding-window@1',
    limit,
    parameters,
    cells,
    step: (state, nowMs, cost, force) => stepSlidingWindow(parameters, state, nowMs, cost, force),
  }
}

const cells: StateCells<SlidingWindowState> = {
  count: 3,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.current
    row[at + 2] = state.previous
  },
  read: (row, at) => ({
    atMs: row[at] as number,
    current: row[at + 1] as number,
    previous: row[at + 2] as number,
  }),
}
