import { describe, expect, it } from 'vitest'
import { lending, measureCalls } from './calls.ts'

// The short form of `npm run prove:prefetch -- calls`.
describe.each(Object.keys(lending))('16 processes with prefetch on one key of a %s', (name) => {
  it.each([undefined, 0.9])(
    'lose at most 1.6 percent where they want all there is; the share of one of them is %s',
    (share) => {
      const pace = { rate: 20_000, windowMs: 1_000, warmMs: 2_000, measuredMs: 4_000 }
      const { admitted, exact } = measureCalls(name, pace, 16, 1, share)
      expect(admitted).toBeGreaterThan(exact * 0.984)
    },
  )

  it('ask fewer than 200 times a second where there is plenty', () => {
    const pace = { rate: 20_000, windowMs: 10_000, warmMs: 500, measuredMs: 1_000 }
    const { admitted, exact, callsPerSecond } = measureCalls(name, pace, 16, 0.5)
    expect(admitted).toBe(exact)
    expect(callsPerSecond).toBeLessThanOrEqual(200)
    expect(callsPerSecond).toBeGreaterThan(100)
  })
})
