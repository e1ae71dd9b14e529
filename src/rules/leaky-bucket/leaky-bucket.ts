import { exactProduct, knownOptions, oneOf, wholeNumber } from '../../core/check.ts'
import { type Duration, readDuration, readWait } from '../../core/duration.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Rule } from '../../core/rule.ts'
import { parseDebt } from '../debt.ts'
import { compactLevelCodec, type Level, levelCodec, outliveLevel, shareLevel } from '../level.ts'
import { stepLeakyBucket } from './leaky-bucket.memory.ts'

/** Options of `leakyBucket`. */
export interface LeakyBucketOptions {
  /** Requests that fit, at least 1. `capacity × period` must stay below 2^53. */
  readonly capacity: number
  /** Requests that leak out in every period, continuously; at least 1. */
  readonly leak: number
  /** Length of the period, 1 ms to 10 years. */
  readonly period: Duration
  /**
   * `'police'`: what fits passes at once. `'shape'`: what fits passes after `delayMs`, so that the outflow is even.
   * @default 'police'
   */
  readonly mode?: 'police' | 'shape'
  /**
   * Only with `mode: 'shape'`: a request that would have to wait longer is refused.
   * @default the time in which a full bucket leaks out
   */
  readonly maxWait?: Duration
  /**
   * How far `charge` may overfill the bucket.
   * @default capacity
   */
  readonly maxDebt?: number
}

/**
 * A bucket that fills with requests and leaks at a constant rate. As a policeman it decides like a token bucket of the same
 * numbers; as a shaper it is a queue: each admitted request gets the time to wait for its turn.
 */
export function leakyBucket(options: LeakyBucketOptions): Rule {
  knownOptions('leakyBucket()', options, ['capacity', 'leak', 'period', 'mode', 'maxWait', 'maxDebt'])
  const capacity = wholeNumber('capacity', options.capacity, 1)
  const leak = wholeNumber('leak', options.leak, 1)
  const periodMs = readDuration('period', options.period)
  exactProduct('capacity × period', capacity, periodMs)
  const { mode = 'police' } = options
  oneOf('mode', mode, ['police', 'shape'])
  if (options.maxWait !== undefined && mode === 'police') {
    throw new LimiterError('INVALID_OPTION', "maxWait needs mode: 'shape'; mode 'police' never waits. Remove maxWait")
  }
  const longestMs = drainMs({ capacity, leak, periodMs })
  const { maxWait = longestMs } = options
  return createRule({
    capacity,
    leak,
    periodMs,
    mode,
    maxWaitMs: Math.min(longestMs, readWait('maxWait', maxWait)),
    maxDebt: parseDebt(options.maxDebt, capacity, periodMs),
  })
}

type Parameters = Readonly<Record<'capacity' | 'leak' | 'periodMs' | 'maxWaitMs' | 'maxDebt', number>> & {
  readonly mode: 'police' | 'shape'
}

function createRule(parameters: Parameters): Rule {
  const { capacity, leak, periodMs, mode, maxWaitMs } = parameters
  const rule: Rule<Level> = {
    kind: 'leaky-bucket',
    stateName: 'leaky-bucket@1',
    limit: capacity,
    identity: JSON.stringify(parameters),
    parameters,
    codec: levelCodec,
    compactCodec: compactLevelCodec,
    refunds: 'pool',
    windowMs: (capacity * periodMs) / leak,
    replenishes: 'continuously',
    // The wait of a request that is shaped depends on all others.
    prefetches: mode === 'police',
    share(instances) {
      const share = { ...parameters, ...shareLevel(parameters, instances) }
      const longestMs = drainMs(share)
      return createRule({ ...share, maxWaitMs: mode === 'shape' ? Math.min(longestMs, maxWaitMs) : longestMs })
    },
    withParameters: createRule,
    ...outliveLevel(stepLeakyBucket, { ...parameters, rate: leak }),
  }
  return rule
}

/** The time in which a full bucket leaks out. */
function drainMs({ capacity, leak, periodMs }: Pick<Parameters, 'capacity' | 'leak' | 'periodMs'>): number {
  return Math.ceil((capacity * periodMs) / leak)
}
