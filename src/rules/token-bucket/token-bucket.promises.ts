import fc from 'fast-check'
import type { RulePromise } from '../../../test/rule-promise.ts'
import { tokenBucket } from './token-bucket.ts'

/** What the tests of every rule check of this one. */
export const promises: readonly RulePromise[] = [
  {
    name: 'tokenBucket',
    rules: fc
      .record({
        capacity: fc.integer({ min: 1, max: 20 }),
        refill: fc.constantFrom(1, 2, 3, 7, 10, 100),
        period: fc.constantFrom(1, 3, 10, 250, 1_000, 1_009),
        maxDebt: fc.nat(30),
      })
      .map(tokenBucket),
    extremes: fc.constantFrom(1, 86_400_000, 315_619_200_000).chain((periodMs) =>
      fc
        .record({
          capacity: fc.integer({ min: 1, max: Math.floor(Number.MAX_SAFE_INTEGER / periodMs) }),
          refill: fc.constantFrom(1, 7, 1_000_003),
        })
        .map(({ capacity, refill }) => tokenBucket({ capacity, refill, period: periodMs })),
    ),
    most: ({ capacity = 0, refill = 0, periodMs = 1 }, apartMs) => capacity + Math.floor((refill * apartMs) / periodMs),
    alignedToClock: false,
    periodMs: ({ periodMs = 0 }) => periodMs,
    even: (limit, periodMs) => [
      tokenBucket({ capacity: limit, refill: limit, period: periodMs }),
      tokenBucket({ capacity: 1, refill: limit, period: periodMs }),
    ],
  },
]
