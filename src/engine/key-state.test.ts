import { describe, expect, it } from 'vitest'
import { decideBy } from '../../test/open-limit.ts'
import type { Rule } from '../core/rule.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../rules/leaky-bucket/leaky-bucket.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { adjust } from './adjust.ts'
import { consume, peek } from './consume.ts'
import { type KeyState, type Transition, UNTOUCHED } from './key-state.ts'

const HOUR_MS = 3_600_000
const bucket = (capacity: number, periodMs = 1_000): Rule => tokenBucket({ capacity, refill: 1, period: periodMs })
const reserve = (rule: Rule, stored: KeyState, amount: number, holdMs: number, nowMs: number): Transition => {
  return decideBy(rule, stored, { type: 'reserve', amount, holdId: 7, holdMs }, nowMs)
}
const cancel = (rule: Rule, stored: KeyState, nowMs: number): Transition => {
  return decideBy(rule, stored, { type: 'settle', amount: 0, holdId: 7 }, nowMs)
}

describe('a hold whose clock is set back by an hour', () => {
  const slow = bucket(10, HOUR_MS)
  const held = reserve(slow, UNTOUCHED, 3, 5_000, 2 * HOUR_MS)

  it('lasts as long as it was meant to', () => {
    const asked = peek(slow, held, 1, HOUR_MS)
    expect(asked).toMatchObject({ remaining: 7, resetAfterMs: 3 * HOUR_MS, nextAfterMs: 5_000 })
    expect(peek(slow, asked, 1, HOUR_MS + 4_999).remaining).toBe(7)
    expect(peek(slow, asked, 1, HOUR_MS + 5_000)).toMatchObject({ remaining: 10, resetAfterMs: 0 })
  })

  it('stays in the window that counts it', () => {
    const day = fixedWindow({ limit: 10, window: 24 * HOUR_MS })
    const startMs = 240 * HOUR_MS
    const taken = consume(day, reserve(day, UNTOUCHED, 3, 20_000, startMs + 5_000), 4, startMs + 6_000)
    // The window of the day before: it opened 23 hours earlier.
    const asked = peek(day, taken, 1, startMs - HOUR_MS)
    expect(asked).toMatchObject({ remaining: 3, resetAfterMs: HOUR_MS })
    expect(cancel(day, asked, startMs - HOUR_MS + 1).remaining).toBe(6)
    expect(cancel(day, asked, startMs - HOUR_MS + 25_000).reason).toBe('reservation-ended')
  })

  it('finds its own cost in a log', () => {
    const log = slidingLog({ limit: 10, window: 24 * HOUR_MS })
    const taken = consume(log, reserve(log, UNTOUCHED, 3, 20_000, 2 * HOUR_MS), 4, 2 * HOUR_MS + 1)
    const asked = peek(log, taken, 1, HOUR_MS)
    expect(asked.remaining).toBe(3)
    expect(cancel(log, asked, HOUR_MS + 1).remaining).toBe(6)
  })

  it('keeps the order of the holds that were taken before and after the clock was wrong', () => {
    const early = reserve(bucket(10), UNTOUCHED, 1, 5 * HOUR_MS, HOUR_MS)
    const late = decideBy(bucket(10), early, { type: 'reserve', amount: 1, holdId: 8, holdMs: HOUR_MS }, 3 * HOUR_MS)
    // All that is counted goes back, and the holds are all that is left.
    const held = adjust(bucket(10), late, -1, 3 * HOUR_MS)
    expect(held).toMatchObject({ state: undefined, holds: { lastTakenMs: 3 * HOUR_MS } })
    const { holds } = peek(bucket(10), held, 1, HOUR_MS + 10_000)
    expect(holds?.lastTakenMs).toBe(HOUR_MS + 10_000)
    expect(holds?.list).toMatchObject([
      { id: 8, takenMs: HOUR_MS + 10_000, untilMs: 2 * HOUR_MS + 10_000 },
      { id: 7, takenMs: HOUR_MS, untilMs: 6 * HOUR_MS },
    ])
  })
})

describe('a key whose rule changes', () => {
  it('keeps the share of a part of a request', () => {
    // At 500 ms two and a half of ten are used: 25 of 100.
    const used = consume(bucket(10), UNTOUCHED, 3, 0)
    expect(peek(bucket(100), used, 1, 500).remaining).toBe(75)
  })

  it('keeps the share that is used of a shaper, and not the share of what may wait', () => {
    const shaper = (capacity: number): Rule =>
      leakyBucket({ capacity, leak: 1, period: 1_000, mode: 'shape', maxWait: 2_000 })
    const used = consume(shaper(10), UNTOUCHED, 1, 0)
    expect(used.remaining).toBe(2)
    expect(peek(shaper(20), used, 1, 0)).toMatchObject({ remaining: 1, delayMs: 2_000 })
  })

  describe('gets the true waiting time from a refusal', () => {
    // Used up by one rule, and then asked by another, which waits for an hour from the first time that it is asked.
    const [first, second, third] = [bucket(1), bucket(1, 60_000), bucket(1, HOUR_MS)]
    const expectTruth = (stored: KeyState, nowMs: number): void => {
      const refused = consume(third, stored, 1, nowMs)
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: HOUR_MS })
      expect(consume(third, refused, 1, nowMs + HOUR_MS - 1)).toMatchObject({ allowed: false, retryAfterMs: 1 })
      expect(consume(third, refused, 1, nowMs + HOUR_MS).allowed).toBe(true)
    }
    const usedUp = consume(first, UNTOUCHED, 1, 2 * HOUR_MS)

    it('when its clock was set back before', () => {
      expectTruth(consume(first, usedUp, 1, HOUR_MS), HOUR_MS)
    })

    it('when its rule had changed before as its clock was set back', () => {
      expectTruth(consume(second, usedUp, 1, HOUR_MS), HOUR_MS)
    })

    it('when its rule had changed before and something was counted since', () => {
      const half = consume(bucket(2), UNTOUCHED, 1, 0)
      const taken = consume(bucket(2, 60_000), half, 1, 0)
      expect(taken.allowed).toBe(true)
      expectTruth(taken, 0)
    })
  })
})

describe('a key whose rule changes when nothing is used any more', () => {
  it('is taken over by no look: a clock that steps back finds it as it was', () => {
    const used = consume(bucket(5), UNTOUCHED, 5, 100_000)
    const seen = peek(bucket(10), used, 1, 105_000)
    expect(seen).toMatchObject({ remaining: 10, resetAfterMs: 0 })
    expect(peek(bucket(10), seen, 1, 104_000).remaining).toBe(8)
  })

  it('is taken over with a hold that is left', () => {
    const held = reserve(bucket(5), UNTOUCHED, 5, 60_000, 100_000)
    const seen = peek(bucket(10), held, 1, 105_000)
    expect(seen).toMatchObject({ remaining: 10, resetAfterMs: 55_000 })
    // The time of the hold is that of the look: the clock is waited for.
    expect(peek(bucket(10), seen, 1, 104_000)).toMatchObject({ remaining: 10, resetAfterMs: 56_000 })
  })

  // A permit that a shorter lease ends at once: at 102,000 nothing is used by it.
  const [long, short] = [concurrency({ limit: 2, lease: 60_000 }), concurrency({ limit: 2, lease: 1_000 })]
  const acquired = consume(long, UNTOUCHED, 1, 100_000)

  it('is forgotten where only the rule before counted something', () => {
    const seen = peek(short, acquired, 1, 102_000)
    expect(seen).toMatchObject({ remaining: 2, resetAfterMs: 0 })
    expect(peek(short, seen, 1, 100_500).remaining).toBe(2)
    expect(peek(long, seen, 1, 102_000).remaining).toBe(2)
  })

  it('is blocked as long as before', () => {
    const blocked = decideBy(long, acquired, { type: 'block', amount: 9_000 }, 100_000)
    const seen = peek(short, blocked, 1, 102_000)
    expect(consume(short, seen, 1, 102_000)).toMatchObject({ allowed: false, reason: 'blocked', retryAfterMs: 7_000 })
  })

  it('counts a permit for as long as the shortest of the leases that looked at it', () => {
    const seen = peek(short, acquired, 2, 100_500)
    expect(seen).toMatchObject({ allowed: false, remaining: 1, retryAfterMs: 500 })
    expect(peek(long, seen, 2, 100_999).allowed).toBe(false)
    expect(peek(long, seen, 2, 101_000).allowed).toBe(true)
  })
})

it('a charge on a key whose rule has changed counts by the new rule', () => {
  const used = consume(bucket(10), UNTOUCHED, 5, 0)
  expect(adjust(bucket(20), used, 4, 0)).toMatchObject({ remaining: 6, resetAfterMs: 14_000 })
})

it('a block that is over is kept whether or not an old state of another rule is still there', () => {
  const [short, long] = [slidingLog({ limit: 1, window: 7 }), slidingLog({ limit: 1, window: 61_000 })]
  const counted = consume(short, UNTOUCHED, 1, 1_000)
  const { block } = consume(short, counted, 1, 1_000, 250)
  expect(block).toEqual({ atMs: 1_000, untilMs: 1_250 })
  for (const stored of [
    { block, state: counted.state, holds: undefined, countedBy: short },
    { block, state: undefined, holds: undefined },
  ]) {
    expect(peek(long, stored, 1, 1_250).block).toEqual(block)
  }
})
