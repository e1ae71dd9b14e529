import fc from 'fast-check'
import type { RulePromise } from '../../../test/rule-promise.ts'
import { leakyBucket } from './leaky-bucket.ts'

/** What the tests of every rule check of this one. */
export const promises: readonly RulePromise[] = [
  {
    name: 'leakyBucket',
    rules: fc
      .record({
        capacity: fc.integer({ min: 1, max: 20 }),
        leak: fc.constantFrom(1, 2, 3, 7, 10, 100),
        period: fc.constantFrom(1, 3, 10, 250, 1_000, 1_009),
        maxDebt: fc.nat(30),
        maxWaitMs: fc.option(fc.constantFrom(0, 1, 100, 999, 3_000), { nil: undefined }),
      })
      .chain(({ maxWaitMs, ...options }) =>
        fc.constantFrom(
          leakyBucket(options),
          leakyBucket({ ...options, mode: 'shape', ...(maxWaitMs === undefined ? {} : { maxWait: maxWaitMs }) }),
        ),
      ),
    extremes: fc.constantFrom(1, 86_400_000, 315_619_200_000).chain((periodMs) =>
      fc
        .record({
          capacity: fc.integer({ min: 1, max: Math.floor(Number.MAX_SAFE_INTEGER / periodMs) }),
          leak: fc.constantFrom(1, 7, 1_000_003),
        })
        .map(({ capacity, leak }) => leakyBucket({ capacity, leak, period: periodMs })),
    ),
    most: ({ capacity = 0, leak = 0, periodMs = 1 }, apartMs) => capacity + Math.floor((leak * apartMs) / periodMs),
    alignedToClock: false,
    periodMs: ({ periodMs = 0 }) => periodMs,
    even: (limit, periodMs) => [
      leakyBucket({ capacity: limit, leak: limit, period: periodMs }),
      leakyBucket({ capacity: limit, leak: limit, period: periodMs, mode: 'shape' }),
      leakyBucket({ capacity: 1, leak: limit, period: periodMs }),
    ],
  },
]
