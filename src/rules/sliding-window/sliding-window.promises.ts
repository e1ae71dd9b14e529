import fc from 'fast-check'
import type { RulePromise } from '../../../test/rule-promise.ts'
import { slidingWindow } from './sliding-window.ts'

/** What the tests of every rule check of this one. */
export const promises: readonly RulePromise[] = [
  {
    name: 'slidingWindow',
    rules: fc
      .record({
        limit: fc.integer({ min: 1, max: 20 }),
        window: fc.constantFrom(1, 2, 7, 250, 999, 1_000, 60_000),
        maxDebt: fc.nat(30),
      })
      .map(slidingWindow),
    extremes: fc
      .constantFrom(1, 86_400_000, 315_619_200_000)
      .chain((windowMs) =>
        fc
          .integer({ min: 1, max: Math.floor(Number.MAX_SAFE_INTEGER / windowMs) })
          .map((limit) => slidingWindow({ limit, window: windowMs })),
      ),
    most: ({ limit = 0, windowMs = 1 }, apartMs) => (apartMs < windowMs ? 2 * limit : Number.POSITIVE_INFINITY),
    alignedToClock: true,
    periodMs: ({ windowMs = 0 }) => windowMs,
    even: (limit, windowMs) => [slidingWindow({ limit, window: windowMs })],
  },
]
