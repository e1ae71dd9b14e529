import { describe, expect, it } from 'vitest'
import { decideBy } from '../../test/open-limit.ts'
import { everyMode, ruleOf } from '../../test/rule-registry.ts'
import type { Rule } from '../core/rule.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { adjust } from './adjust.ts'
import { consume, peek } from './consume.ts'
import { countWalked, type Hold, MOST_HOLDS } from './holds.ts'
import { type KeyState, type Transition, UNTOUCHED } from './key-state.ts'

const DAY_MS = 86_400_000
const day = (limit: number): Rule => fixedWindow({ limit, window: DAY_MS })

function reserve(rule: Rule, stored: KeyState, holdId: number, amount: number, holdMs: number, nowMs = 0): Transition {
  return decideBy(rule, stored, { type: 'reserve', holdId, amount, holdMs }, nowMs)
}

/** A key with `count` holds of 1. Each expires a second after the one before. */
function hold(rule: Rule, count: number): KeyState {
  let stored: KeyState = UNTOUCHED
  for (let id = 1; id <= count; id++) stored = reserve(rule, stored, id, 1, 1_000 * id)
  return stored
}

const ids = ({ holds }: KeyState): number[] => holds?.list.map(({ id }) => id) ?? []

describe('the holds of a key', () => {
  it('stand in the order in which they expire, and in that of their arrival where that is the same', () => {
    let stored: KeyState = UNTOUCHED
    for (const [id, holdMs] of [500, 100, 500, 300, 100, 900].entries()) stored = reserve(day(9), stored, id, 1, holdMs)
    expect(ids(stored)).toEqual([1, 4, 3, 0, 2, 5])
    const extended = decideBy(day(9), stored, { type: 'extend', holdId: 1, holdMs: 500 }, 0)
    expect(ids(extended)).toEqual([4, 3, 0, 2, 1, 5])
    expect(ids(consume(day(9), extended, 1, 300))).toEqual([0, 2, 1, 5])
    expect(ids(consume(day(9), extended, 1, 900))).toEqual([])
  })

  it('of one id end one after the other, the first to expire first', () => {
    const both = reserve(day(9), reserve(day(9), UNTOUCHED, 7, 4, 900), 7, 2, 500)
    const one = decideBy(day(9), both, { type: 'settle', holdId: 7, amount: 0 }, 0)
    expect(one.remaining).toBe(5)
    const none = decideBy(day(9), one, { type: 'settle', holdId: 7, amount: 0 }, 0)
    expect(none).toMatchObject({ remaining: 9, holds: undefined })
  })

  it('are at most a thousand, and two hundred on a sliding log', () => {
    for (const [rule, most] of [
      [day(5_000), MOST_HOLDS],
      [slidingLog({ limit: 5_000, window: DAY_MS }), 200],
      [concurrency({ limit: 5_000, lease: DAY_MS }), MOST_HOLDS],
    ] as const) {
      const full = hold(rule, most)
      expect(ids(full)).toHaveLength(most)
      expect(reserve(rule, full, 9_999, 1, 1)).toMatchObject({ allowed: false, reason: 'limit', retryAfterMs: 1_000 })
      expect(reserve(rule, full, 9_999, 1, 1, 1_000).allowed).toBe(true)
    }
  })

  it('keep the time of a key, also after the one that was taken last has ended', () => {
    const first = reserve(day(9), UNTOUCHED, 1, 1, 60_000, 10_000)
    const second = reserve(day(9), first, 2, 1, 60_000, 50_000)
    const settled = decideBy(day(9), second, { type: 'settle', holdId: 2, amount: 1 }, 50_000)
    // At 10,001 the key waits for 50,000 as before: its first hold expires at 70,000.
    expect(peek(day(9), settled, 8, 10_001)).toMatchObject({ allowed: false, retryAfterMs: 59_999 })
    expect(reserve(day(9), settled, 3, 1, 100, 10_001).holds?.list[0]).toMatchObject({ id: 3, untilMs: 50_100 })
  })

  it('let a key go back with a clock that is set back for good, also where only an ended one was ahead', () => {
    const startMs = 3_600_000
    const first = reserve(day(9), UNTOUCHED, 1, 1, 200_000, startMs)
    const second = reserve(day(9), first, 2, 1, 200_000, startMs + 80_000)
    const settled = decideBy(day(9), second, { type: 'settle', holdId: 2, amount: 0 }, startMs + 80_000)
    const waits = peek(day(9), settled, 9, startMs + 20_000)
    expect(waits).toMatchObject({ retryAfterMs: 180_000, holds: { lastTakenMs: startMs + 80_000 } })
    const moved = peek(day(9), settled, 9, startMs + 19_999)
    expect(moved).toMatchObject({ retryAfterMs: 180_001, holds: { lastTakenMs: startMs } })
    expect(ids(moved)).toEqual([1])
    // One that is ahead is pulled to the clock, and may expire before others then.
    const ahead = peek(day(9), second, 9, startMs + 19_999)
    expect(ahead.holds?.list).toMatchObject([
      { id: 1, takenMs: startMs, untilMs: startMs + 200_000 },
      { id: 2, takenMs: startMs + 19_999, untilMs: startMs + 219_999 },
    ])
    const short = reserve(day(9), first, 2, 1, 150_000, startMs + 80_000)
    expect(ids(short)).toEqual([1, 2])
    expect(ids(peek(day(9), short, 9, startMs + 19_999))).toEqual([2, 1])
  })
})

describe('what can go back of a hold on a bucket', () => {
  const bucket = tokenBucket({ capacity: 100, refill: 1, period: 1_000 })
  const settle = (stored: KeyState, holdId: number, nowMs: number): Transition =>
    decideBy(bucket, stored, { type: 'settle', holdId, amount: 0 }, nowMs)

  it('is clipped by a take, and not by one that comes after a larger hold', () => {
    const first = reserve(bucket, reserve(bucket, UNTOUCHED, 1, 10, 90_000), 2, 2, 90_000)
    // After 7 seconds 5 of 12 are used, and no more than 5 can go back of the first.
    const taken = consume(bucket, first, 1, 7_000)
    expect(taken.holds).toMatchObject({ mostLeft: 5 })
    const larger = reserve(bucket, taken, 3, 20, 90_000, 7_000)
    expect(larger.remaining).toBe(74)
    expect(settle(larger, 1, 7_000).remaining).toBe(79)
    expect(settle(larger, 2, 7_000).remaining).toBe(76)
    expect(settle(larger, 3, 7_000).remaining).toBe(94)
    const extended = decideBy(bucket, taken, { type: 'extend', holdId: 1, holdMs: 90_000 }, 7_000)
    expect(settle(reserve(bucket, extended, 3, 20, 90_000, 7_000), 1, 7_000).remaining).toBe(79)
  })

  it('is clipped alike where many expire at once, to a part of a request', () => {
    let stored: KeyState = UNTOUCHED
    for (let id = 1; id <= 4; id++) stored = reserve(bucket, stored, id, 5, 30_000)
    // After 16.5 seconds 3.5 of 20 are used; one more is taken, and by the end of the holds all has come back anyway.
    const taken = consume(bucket, stored, 30, 16_500)
    expect(taken.holds?.mostLeft).toBe(3.5)
    expect(peek(bucket, taken, 1, 29_999).remaining).toBe(79)
    expect(peek(bucket, taken, 1, 30_000)).toMatchObject({ remaining: 94, resetAfterMs: 6_000 })
  })

  it('stays for a take that finds more used', () => {
    const held = reserve(bucket, UNTOUCHED, 1, 10, 90_000)
    const { holds } = held
    expect(consume(bucket, held, 1, 0).holds).toBe(holds)
    expect(adjust(bucket, held, 5, 0).holds).toBe(holds)
    expect(adjust(bucket, held, -5, 1_000).holds).toBe(holds)
    expect(adjust(bucket, held, 5, 1_000).holds?.mostLeft).toBe(9)
  })
})

describe('a waiting time', () => {
  it.each([
    [64, day(80)],
    [16, slidingLog({ limit: 80, window: DAY_MS })],
  ])('is exact while it needs %i holds, and never too early beyond that', (walked, rule) => {
    const stored = hold(rule, 80)
    for (let cost = 1; cost <= walked; cost++) {
      const refused = consume(rule, stored, cost, 0)
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: 1_000 * cost })
      expect(consume(rule, refused, cost, refused.retryAfterMs - 1).allowed).toBe(false)
    }
    // After those it tells the time of the window. What comes back sooner passes sooner.
    const late = consume(rule, stored, walked + 1, 0)
    expect(late).toMatchObject({ allowed: false, retryAfterMs: DAY_MS })
    expect(consume(rule, late, walked + 1, 1_000 * (walked + 1)).allowed).toBe(true)
  })

  it('is the one of the rule where that is sooner, and where permits are leased', () => {
    const bucket = tokenBucket({ capacity: 20, refill: 1, period: 100 })
    expect(consume(bucket, hold(bucket, 20), 3, 0).retryAfterMs).toBe(300)
    expect(consume(bucket, hold(bucket, 20), 12, 0).retryAfterMs).toBe(1_100)
    const places = concurrency({ limit: 2, lease: 5_000 })
    expect(consume(places, hold(places, 2), 1, 0).retryAfterMs).toBe(5_000)
  })

  it('counts from the time at which holds that expire together have all expired', () => {
    let stored: KeyState = UNTOUCHED
    for (let id = 1; id <= 9; id++) stored = reserve(day(9), stored, id, 1, 500 + (id > 6 ? 1 : 0))
    for (const [cost, retryAfterMs] of [
      [1, 500],
      [6, 500],
      [7, 501],
      [9, 501],
    ] as const) {
      expect(consume(day(9), stored, cost, 0).retryAfterMs).toBe(retryAfterMs)
    }
  })

  it('until more passes looks at the same holds', () => {
    expect(consume(day(30), hold(day(30), 20), 1, 0)).toMatchObject({ remaining: 9, nextAfterMs: 1_000 })
  })
})

// A list that counts how often one of its entries is read.
function watch(stored: KeyState): { readonly stored: KeyState; reads(): number } {
  let reads = 0
  const { holds } = stored
  const list = new Proxy(holds?.list as readonly Hold[], {
    get(target, name, receiver) {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads++
      return Reflect.get(target, name, receiver)
    },
  })
  return { stored: { ...stored, holds: holds && { ...holds, list } }, reads: () => reads }
}

describe.each(everyMode.map((mode) => [mode.title, mode] as const))('of a thousand holds on a %s', (_, mode) => {
  const rule = ruleOf(mode, { limit: 2_000, timeMs: DAY_MS, rate: 1, parts: 10 })
  const most = rule.mostHolds ?? MOST_HOLDS
  const full = hold(rule, most)

  it.each([
    ['a take', (stored: KeyState) => consume(rule, stored, 1, 500)],
    ['a look', (stored: KeyState) => peek(rule, stored, 1, 500)],
    ['a refusal', (stored: KeyState) => consume(rule, stored, 2_000, 500)],
    ['a charge', (stored: KeyState) => adjust(rule, stored, 3, 500)],
    ['a refund', (stored: KeyState) => adjust(rule, stored, -3, 500)],
    ['a refused reservation', (stored: KeyState) => reserve(rule, stored, 5_000, 2_000, 1, 500)],
  ])('%s reads no more than those that expire first', (_, ask) => {
    const { stored, reads } = watch(full)
    ask(stored)
    expect(reads()).toBeLessThanOrEqual(3 * countWalked(rule))
  })
})
