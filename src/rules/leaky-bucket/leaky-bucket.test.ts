import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeProperties } from '../../../test/rule-properties.ts'
import { consume } from '../../engine/consume.ts'
import { UNTOUCHED } from '../../engine/key-state.ts'
import { promises } from './leaky-bucket.promises.ts'
import { leakyBucket } from './leaky-bucket.ts'

describeProperties(promises)

describe('leakyBucket', () => {
  it('makes nothing wait longer than a full bucket takes to leak out, or than maxWaitMs', () => {
    const shaper = (maxWaitMs: number) =>
      leakyBucket({ capacity: 3, leak: 2, period: 1_000, mode: 'shape', maxWait: maxWaitMs })
    expect([500, 1_500, 9_000].map((maxWaitMs) => shaper(maxWaitMs).parameters.maxWaitMs)).toEqual([500, 1_500, 1_500])
  })

  it('spreads what it admits evenly when it shapes', () => {
    const arrivals = fc.array(fc.record({ waitMs: fc.nat(400), cost: fc.integer({ min: 1, max: 3 }) }), {
      maxLength: 50,
    })
    fc.assert(
      fc.property(fc.constantFrom(1, 3, 7, 10), arrivals, (leak, list) => {
        const rule = leakyBucket({ capacity: 20, leak, period: 1_000, mode: 'shape' })
        let entry = UNTOUCHED
        let nowMs = 0
        let freeMs = 0
        for (const { waitMs, cost } of list) {
          nowMs += waitMs
          const ruling = consume(rule, entry, cost, nowMs)
          entry = ruling
          if (!ruling.allowed) continue
          // The exact queue, in fractions of a millisecond: no request goes early, and none a whole millisecond late.
          const turnMs = Math.max(nowMs, freeMs)
          expect(nowMs + ruling.delayMs).toBeGreaterThanOrEqual(turnMs - 1e-6)
          expect(nowMs + ruling.delayMs).toBeLessThan(turnMs + 1)
          freeMs = turnMs + (cost * 1_000) / leak
        }
      }),
    )
  })
})
