import fc from 'fast-check'
import type { Rule } from '../../src/core/rule.ts'
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
} from '../../src/rules/index.ts'

/** Random configurations of one rule that are fresh again within a second or so, whatever was done. */
export interface ShortRule {
  readonly title: string
  readonly rules: fc.Arbitrary<Rule>
}

const limit = fc.integer({ min: 1, max: 12 })
const maxDebt = fc.nat(6)
const windowMs = fc.integer({ min: 20, max: 300 })
const periodMs = fc.integer({ min: 20, max: 60 })
const perPeriod = fc.integer({ min: 1, max: 3 })

/** Every rule, and every mode of it that decides differently. */
export const shortRules: readonly ShortRule[] = [
  {
    title: 'fixedWindow by the clock',
    rules: fc.record({ limit, maxDebt, windowMs }).map(fixedWindow),
  },
  {
    title: 'fixedWindow from the first hit',
    rules: fc.record({ limit, maxDebt, windowMs, anchor: fc.constant('first-hit' as const) }).map(fixedWindow),
  },
  {
    title: 'slidingWindow',
    rules: fc.record({ limit, maxDebt, windowMs }).map(slidingWindow),
  },
  {
    title: 'slidingLog',
    rules: fc.record({ limit, maxDebt, windowMs }).map(slidingLog),
  },
  {
    title: 'strictWindow',
    rules: fc.record({ limit, maxDebt, windowMs, slices: fc.integer({ min: 1, max: 10 }) }).map(strictWindow),
  },
  {
    title: 'tokenBucket',
    rules: fc.record({ capacity: limit, maxDebt, refill: perPeriod, periodMs }).map(tokenBucket),
  },
  {
    title: 'leakyBucket as a policeman',
    rules: fc.record({ capacity: limit, maxDebt, leak: perPeriod, periodMs }).map(leakyBucket),
  },
  {
    title: 'leakyBucket as a shaper',
    rules: fc
      .record({ capacity: limit, maxDebt, leak: perPeriod, periodMs, mode: fc.constant('shape' as const) })
      .map(leakyBucket),
  },
  {
    title: 'concurrency',
    rules: fc.record({ limit, maxDebt, leaseMs: windowMs }).map(concurrency),
  },
]
