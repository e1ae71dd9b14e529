import { knownOptions, wholeNumber } from '../../core/check.ts'
import { type Duration, readDuration } from '../../core/duration.ts'
import { clockSlots, type Rule } from '../../core/rule.ts'
import { parseDebt } from '../debt.ts'
import { outliveRequests } from '../outlive.ts'
import { shareLimit } from '../share.ts'
import {
  adjustStrictWindow,
  bulkStrictWindow,
  createCompactStrictWindowCodec,
  createStrictWindowCodec,
  readStrictWindow,
  type StrictWindowParameters,
  type StrictWindowState,
  stepStrictWindow,
} from './strict-window.memory.ts'

/** Options of `strictWindow`. */
export interface StrictWindowOptions {
  /** Requests in any window, at least 1. */
  readonly limit: number
  /** Length of the window, 1 ms to 10 years. */
  readonly window: Duration
  /**
   * Into how many slices the window is cut, 1 to 1,000 and no more than it has milliseconds. More slices refuse less early:
   * under constant pressure about `slices / (slices + 1)` of the limit passes.
   * @default 10, or the milliseconds of the window if that is less
   */
  readonly slices?: number
  /**
   * How far `charge` may go beyond the limit.
   * @default limit
   */
  readonly maxDebt?: number
}

/**
 * Counts in slices and forgets a slice only when all of it is older than the window: never more than `limit` in any window,
 * at a size that does not grow with traffic. The price is a refusal up to one slice early.
 */
export function strictWindow(options: StrictWindowOptions): Rule {
  knownOptions('strictWindow()', options, ['limit', 'window', 'slices', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const windowMs = readDuration('window', options.window)
  const mostSlices = Math.min(1_000, windowMs)
  const { slices = Math.min(10, mostSlices) } = options
  wholeNumber('slices', slices, 1, mostSlices)
  return createRule({ limit, windowMs, slices, maxDebt: parseDebt(options.maxDebt, limit) })
}

function createRule(parameters: StrictWindowParameters): Rule {
  const { limit, windowMs, slices } = parameters
  const rule: Rule<StrictWindowState> = {
    kind: 'strict-window',
    stateName: 'strict-window@1',
    limit,
    identity: JSON.stringify(parameters),
    parameters,
    codec: createStrictWindowCodec(slices + 1),
    compactCodec: createCompactStrictWindowCodec(slices + 1),
    refunds: 'by-time',
    windowMs,
    replenishes: 'gradually',
    prefetches: true,
    slots: ({ sliceMs }) => clockSlots(sliceMs),
    share: (instances) => createRule({ ...parameters, ...shareLimit(parameters, instances) }),
    withParameters: createRule,
    ...outliveRequests<StrictWindowParameters, StrictWindowState>({
      step: stepStrictWindow,
      adjust: adjustStrictWindow,
      parameters,
      readCounting: (state) => readStrictWindow(parameters, state),
    }),
    bulk: bulkStrictWindow,
  }
  return rule
}
