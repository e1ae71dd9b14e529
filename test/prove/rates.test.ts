import { describe, expect, it } from 'vitest'
import { runs } from '../effort.ts'
import { measureCalls } from './calls.ts'
import { measureRateCalls } from './rate-load.ts'
import { playRates } from './rate-play.ts'
import { countOver, rateMutants } from './rate-prove.ts'
import { rules } from './rules.ts'

// The short form of `npm run prove:prefetch -- rates`.
describe('grants by rate', () => {
  it.each(Object.entries(rules))('of a %s let nothing pass that the rule refuses', (_, rule) => {
    let local = 0
    for (let seed = 1; seed <= Math.ceil(runs('long') / 4); seed++) {
      const played = playRates(rule, seed, 3_000)
      expect(played.over, `seed ${seed}`).toBe(0)
      local += played.local
    }
    expect(local).toBeGreaterThan(0)
  })

  it.each(Object.entries(rateMutants))('are found out where a process or a server %s', (_, mistakes) => {
    expect(countOver(20, mistakes, (over) => over > 0)).toBeGreaterThan(0)
  })

  it('need a third of the calls of a saturated sliding window of a second', () => {
    const pace = { rate: 100_000, windowMs: 1_000, warmMs: 1_000, measuredMs: 1_000 }
    const byUnits = measureCalls('slidingWindow', pace, 16, 2)
    const byRate = measureRateCalls('slidingWindow', 100_000, 16, 2)
    expect(byRate.callsPerSecond).toBeLessThan(byUnits.callsPerSecond / 3)
    expect(byRate.admitted).toBeGreaterThan(byRate.exact * 0.98)
  })
})
