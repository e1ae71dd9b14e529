import fc from 'fast-check'
import type { Rule } from '../src/core/rule.ts'
import * as rules from '../src/rules/index.ts'

const small = fc.integer({ min: 1, max: 40 })
const spans = fc.constantFrom(1, 7, 250, 999, 1_000, 61_000)
const windows = fc.record({ limit: small, windowMs: spans })

/** Rules of every kind, each with any numbers: two of a kind share their keys. */
export const outlivingKinds: Readonly<Record<string, fc.Arbitrary<Rule>>> = {
  'fixed window by the clock': windows.map(rules.fixedWindow),
  'fixed window from the first hit': windows.map((options) =>
    rules.fixedWindow({ ...options, anchor: 'first-hit', maxDebt: 3 }),
  ),
  'sliding window': windows.map(rules.slidingWindow),
  'sliding log': windows.map(rules.slidingLog),
  'strict window': fc
    .record({ limit: small, windowMs: spans, slices: fc.constantFrom(1, 2, 3, 10) })
    .map((options) => rules.strictWindow({ ...options, slices: Math.min(options.slices, options.windowMs) })),
  'token bucket': fc.record({ capacity: small, refill: small, periodMs: spans }).map(rules.tokenBucket),
  'leaky bucket': fc
    .record({ capacity: small, leak: small, periodMs: spans, maxDebt: fc.nat(9) })
    .map(rules.leakyBucket),
  concurrency: fc.record({ limit: small, leaseMs: spans }).map(rules.concurrency),
}
