import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeProperties } from '../../../test/rule-properties.ts'
import * as decide from '../../core/decide.ts'
import { UNTOUCHED } from '../../core/entry.ts'
import { leakyBucket } from './leaky-bucket.ts'

describe('leakyBucket', () => {
  describeProperties({
    rules: fc
      .record({
        capacity: fc.integer({ min: 1, max: 20 }),
        leak: fc.constantFrom(1, 2, 3, 7, 10, 100),
        periodMs: fc.constantFrom(1, 3, 10, 250, 1_000, 1_009),
        maxDebt: fc.nat(30),
        maxWaitMs: fc.option(fc.constantFrom(0, 1, 100, 999, 3_000), { nil: undefined }),
      })
      .chain(({ maxWaitMs, ...options }) =>
        fc.constantFrom(
          leakyBucket(options),
          leakyBucket({ ...options, mode: 'shape', ...(maxWaitMs === undefined ? {} : { maxWaitMs }) }),
        ),
      ),
    extremes: fc.constantFrom(1, 86_400_000, 315_619_200_000).chain((periodMs) =>
      fc
        .record({
          capacity: fc.integer({ min: 1, max: Math.floor(Number.MAX_SAFE_INTEGER / periodMs) }),
          leak: fc.constantFrom(1, 7, 1_000_003),
        })
        .map(({ capacity, leak }) => leakyBucket({ capacity, leak, periodMs })),
    ),
    most: ({ capacity = 0, leak = 0, periodMs = 1 }, apartMs) => capacity + Math.floor((leak * apartMs) / periodMs),
    alignedToClock: false,
    periodMs: ({ periodMs = 0 }) => periodMs,
    even: (limit, periodMs) => [
      leakyBucket({ capacity: limit, leak: limit, periodMs }),
      leakyBucket({ capacity: limit, leak: limit, periodMs, mode: 'shape' }),
      leakyBucket({ capacity: 1, leak: limit, periodMs }),
    ],
  })

  it('spreads what it admits evenly when it shapes', () => {
    const arrivals = fc.array(fc.record({ waitMs: fc.nat(400), cost: fc.integer({ min: 1, max: 3 }) }), {
      maxLength: 50,
    })
    fc.assert(
      fc.property(fc.constantFrom(1, 3, 7, 10), arrivals, (leak, list) => {
        const rule = leakyBucket({ capacity: 20, leak, periodMs: 1_000, mode: 'shape' })
        let entry = UNTOUCHED
        let nowMs = 0
        let freeMs = 0
        for (const { waitMs, cost } of list) {
          nowMs += waitMs
          const ruling = decide.consume(rule, entry, cost, nowMs)
          entry = ruling
          if (!ruling.allowed) continue
          // The exact queue, in fractions of a millisecond: nobody goes early, and nobody a whole millisecond late.
          const turnMs = Math.max(nowMs, freeMs)
          expect(nowMs + ruling.delayMs).toBeGreaterThanOrEqual(turnMs - 1e-6)
          expect(nowMs + ruling.delayMs).toBeLessThan(turnMs + 1)
          freeMs = turnMs + (cost * 1_000) / leak
        }
      }),
    )
  })
})
