import { exactProduct, knownOptions, wholeNumber } from '../../core/check.ts'
import { type Duration, readDuration } from '../../core/duration.ts'
import type { Rule } from '../../core/rule.ts'
import { parseDebt } from '../debt.ts'
import { compactLevelCodec, type Level, levelCodec, outliveLevel, shareLevel } from '../level.ts'
import { stepTokenBucket } from './token-bucket.memory.ts'

/** Options of `tokenBucket`. */
export interface TokenBucketOptions {
  /** Tokens that fit, and so the largest burst; at least 1. `capacity × period` must stay below 2^53. */
  readonly capacity: number
  /** Tokens that come back in every period, continuously; at least 1. */
  readonly refill: number
  /** Length of the period, 1 ms to 10 years. */
  readonly period: Duration
  /**
   * How many tokens `charge` may take that are not there.
   * @default capacity
   */
  readonly maxDebt?: number
}

/** Options of `gcra`. */
export interface GcraOptions {
  /** Requests per period, at least 1. */
  readonly limit: number
  /** Length of the period, 1 ms to 10 years. */
  readonly period: Duration
  /**
   * Requests that may come at once, the first one included.
   * @default limit
   */
  readonly burst?: number
  /**
   * How far `charge` may go beyond the burst.
   * @default burst
   */
  readonly maxDebt?: number
}

/**
 * A bucket that refills at a constant rate: bursts up to its capacity, then the rate. In any stretch of time no more than
 * `capacity` and the refill of that time passes.
 */
export function tokenBucket(options: TokenBucketOptions): Rule {
  knownOptions('tokenBucket()', options, ['capacity', 'refill', 'period', 'maxDebt'])
  const capacity = wholeNumber('capacity', options.capacity, 1)
  const refill = wholeNumber('refill', options.refill, 1)
  const periodMs = readDuration('period', options.period)
  exactProduct('capacity × period', capacity, periodMs)
  return createRule({ capacity, refill, periodMs, maxDebt: parseDebt(options.maxDebt, capacity, periodMs) })
}

function createRule(parameters: Readonly<Record<'capacity' | 'refill' | 'periodMs' | 'maxDebt', number>>): Rule {
  const { capacity, refill, periodMs } = parameters
  const rule: Rule<Level> = {
    kind: 'token-bucket',
    stateName: 'token-bucket@1',
    limit: capacity,
    identity: JSON.stringify(parameters),
    parameters,
    codec: levelCodec,
    compactCodec: compactLevelCodec,
    refunds: 'pool',
    windowMs: (capacity * periodMs) / refill,
    replenishes: 'continuously',
    prefetches: true,
    share: (instances) => createRule({ ...parameters, ...shareLevel(parameters, instances) }),
    withParameters: createRule,
    ...outliveLevel(stepTokenBucket, { ...parameters, rate: refill }),
  }
  return rule
}

/** The token bucket in the words of the generic cell rate algorithm: `limit` per period, `burst` at once. */
export function gcra(options: GcraOptions): Rule {
  knownOptions('gcra()', options, ['limit', 'period', 'burst', 'maxDebt'])
  const limit = wholeNumber('limit', options.limit, 1)
  const periodMs = readDuration('period', options.period)
  const { burst = limit } = options
  wholeNumber('burst', burst, 1)
  exactProduct('burst × period', burst, periodMs)
  return tokenBucket({
    capacity: burst,
    refill: limit,
    period: periodMs,
    maxDebt: parseDebt(options.maxDebt, burst, periodMs),
  })
}
