import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeProperties } from '../../../test/rule-properties.ts'
import type { Timeline } from '../timeline.ts'
import { slidingLog } from './sliding-log.ts'

describe('slidingLog', () => {
  describeProperties({
    rules: fc
      .record({
        limit: fc.integer({ min: 1, max: 20 }),
        windowMs: fc.constantFrom(1, 2, 7, 250, 999, 1_000, 60_000),
        maxDebt: fc.nat(30),
      })
      .map(slidingLog),
    extremes: fc
      .record({
        limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        windowMs: fc.constantFrom(1, 86_400_000, 315_619_200_000),
      })
      .map(slidingLog),
    most: ({ limit = 0, windowMs = 1 }, apartMs) => (apartMs < windowMs ? limit : Number.POSITIVE_INFINITY),
    alignedToClock: false,
    periodMs: ({ windowMs = 0 }) => windowMs,
  })

  it('keeps no more than the requests that still count, and as many again for a while', () => {
    const rule = slidingLog({ limit: 50, windowMs: 100 })
    let state: Timeline | undefined
    for (let nowMs = 0; nowMs < 20_000; nowMs += 3) {
      const outcome = rule.step(state, nowMs, 1, false)
      expect(outcome.retryAfterMs).toBe(0)
      state = outcome.state as Timeline
      expect(state.older.length / 2).toBeLessThanOrEqual(2 * 34 + 1)
    }
  })
})
