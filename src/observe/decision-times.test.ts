import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecisionTimes } from './decision-times.ts'

describe('decision times', () => {
  it('are right within a fifth, and never too low', () => {
    const times = fc.array(fc.double({ min: 0.002, max: 100_000, noNaN: true }), { minLength: 1, maxLength: 50 })
    fc.assert(
      fc.property(times, fc.constantFrom(0.01, 0.5, 0.99, 1), (took, share) => {
        const scale = new DecisionTimes()
        for (const tookMs of took) scale.add(tookMs)
        const sorted = [...took].sort((one, other) => one - other)
        const exact = sorted[Math.ceil(took.length * share) - 1] as number
        const told = scale.percentile(share) as number
        expect(told).toBeGreaterThanOrEqual(exact * (1 - 1e-9))
        expect(told).toBeLessThanOrEqual(exact * 1.19)
      }),
    )
  })

  it('have ends: what takes no time, and what takes longer than the scale', () => {
    const none = new DecisionTimes()
    none.add(0)
    expect(none.percentile(0.5)).toBe(0.001)
    const long = new DecisionTimes()
    long.add(10_000_000)
    expect(long.percentile(0.5)).toBeCloseTo(134_217.728, 3)
  })

  it('are none when there were none, also after they were cleared', () => {
    const times = new DecisionTimes()
    expect(times.percentile(0.5)).toBeNull()
    times.clear()
    times.add(3)
    times.clear()
    expect(times.percentile(0.99)).toBeNull()
    times.add(8)
    expect(times.percentile(0.99)).toBeCloseTo(8.192, 3)
  })
})
