import fc from 'fast-check'
import type { RulePromise } from '../../../test/rule-promise.ts'
import { concurrency } from './concurrency.ts'

/** What the tests of every rule check of this one. */
export const promises: readonly RulePromise[] = [
  {
    name: 'concurrency',
    rules: fc
      .record({
        limit: fc.integer({ min: 1, max: 20 }),
        lease: fc.constantFrom(1, 2, 7, 250, 999, 1_000, 60_000),
        maxDebt: fc.nat(30),
      })
      .map(concurrency),
    extremes: fc
      .record({
        limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        lease: fc.constantFrom(1, 86_400_000, 315_619_200_000),
      })
      .map(concurrency),
    most: ({ limit = 0, leaseMs = 1 }, apartMs) => (apartMs < leaseMs ? limit : Number.POSITIVE_INFINITY),
    alignedToClock: false,
    periodMs: ({ leaseMs = 0 }) => leaseMs,
    // Each has its permit for a tenth of the lease, and releases it.
    even: (limit, periodMs) => [concurrency({ limit, lease: 10 * periodMs })],
  },
]
