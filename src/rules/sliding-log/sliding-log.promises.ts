import fc from 'fast-check'
import type { RulePromise } from '../../../test/rule-promise.ts'
import { slidingLog } from './sliding-log.ts'

/** What the tests of every rule check of this one. */
export const promises: readonly RulePromise[] = [
  {
    name: 'slidingLog',
    rules: fc
      .record({
        limit: fc.integer({ min: 1, max: 20 }),
        window: fc.constantFrom(1, 2, 7, 250, 999, 1_000, 60_000),
        maxDebt: fc.nat(30),
      })
      .map(slidingLog),
    extremes: fc
      .record({
        limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        window: fc.constantFrom(1, 86_400_000, 315_619_200_000),
      })
      .map(slidingLog),
    most: ({ limit = 0, windowMs = 1 }, apartMs) => (apartMs < windowMs ? limit : Number.POSITIVE_INFINITY),
    alignedToClock: false,
    periodMs: ({ windowMs = 0 }) => windowMs,
    even: (limit, windowMs) => [slidingLog({ limit, window: windowMs })],
  },
]
