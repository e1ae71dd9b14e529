import { describe, expect, it } from 'vitest'
import { decideBy, operationBy } from '../../test/open-limit.ts'
import type { Rule } from '../core/rule.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { consume } from './consume.ts'
import { decide } from './decide.ts'
import { type KeyState, type Transition, UNTOUCHED } from './key-state.ts'

const day = 86_400_000
const kinds: readonly (readonly [string, (limit: number) => Rule])[] = [
  ['a fixed window', (limit) => fixedWindow({ limit, window: day })],
  ['a sliding log', (limit) => slidingLog({ limit, window: day })],
  ['a token bucket', (limit) => tokenBucket({ capacity: limit, refill: 1, period: day })],
]

describe.each(kinds)('a hold on %s whose limit changes', (_, createRule) => {
  const reserve = (limit: number, amount: number): KeyState => {
    return decide(operationBy(createRule(limit), { type: 'reserve', amount, holdId: 7, holdMs: 1_000 }), UNTOUCHED, 0)
  }
  const settle = (limit: number, stored: KeyState, used: number): Transition => {
    return decide(operationBy(createRule(limit), { type: 'settle', holdId: 7, amount: used }), stored, 0)
  }
  const peek = (limit: number, stored: KeyState, nowMs: number): Transition => {
    return decide(operationBy(createRule(limit), { type: 'peek', amount: 1 }), stored, nowMs)
  }

  // 3 of 10 are 30 of 100: each request that was reserved counts for ten, and goes back as ten.
  it.each([
    [0, 100],
    [1, 90],
    [2, 80],
    [3, 70],
    [5, 68],
  ])('from 10 to 100: of 3 reserved %i are used, and %i remain', (used, remaining) => {
    expect(settle(100, reserve(10, 3), used).remaining).toBe(remaining)
  })

  it('refunds no more than the hold took: what others took stays used', () => {
    const taken = consume(createRule(10), reserve(10, 3), 4, 0)
    expect(settle(100, taken, 0).remaining).toBe(60)
  })

  it.each([
    [10, 100],
    [100, 10],
    [10, 10],
    [7, 100],
  ])('from %i to %i: refunds as much when nothing is used as when it expires', (before, after) => {
    const stored = peek(after, reserve(before, 3), 0)
    expect(settle(after, stored, 0).remaining).toBe(peek(after, stored, 1_000).remaining)
  })
})

it('what a hold took of a window goes back whole, and a refund beside it', () => {
  const rule = fixedWindow({ limit: 10, window: day })
  const held = decideBy(rule, UNTOUCHED, { type: 'reserve', amount: 5, holdId: 7, holdMs: 1_000 }, 0)
  const refunded = decideBy(rule, held, { type: 'refund', amount: 3 }, 0)
  const taken = consume(rule, refunded, 4, 0)
  expect(taken.remaining).toBe(4)
  expect(decideBy(rule, taken, { type: 'settle', amount: 0, holdId: 7 }, 0).remaining).toBe(9)
})

describe('a hold on a bucket that refills a token a second', () => {
  const bucket = (capacity: number): Rule => tokenBucket({ capacity, refill: 1, period: 1_000 })
  const reserve = (stored: KeyState, holdId: number, amount: number): KeyState => {
    return decideBy(bucket(10), stored, { type: 'reserve', amount, holdId, holdMs: 60_000 }, 0)
  }
  const settle = (rule: Rule, stored: KeyState, holdId: number, used: number, nowMs: number): Transition => {
    return decideBy(rule, stored, { type: 'settle', holdId, amount: used }, nowMs)
  }

  // Of 3 tokens one has come back in the first second: no more than 2 can go back, and of those the 2 that were not used.
  it.each([
    [0, 9],
    [1, 9],
    [2, 8],
    [3, 7],
  ])('after a take, of 3 reserved %i are used: %i remain', (used, remaining) => {
    const taken = consume(bucket(10), reserve(UNTOUCHED, 7, 3), 1, 1_000)
    expect(settle(bucket(10), taken, 7, used, 1_000).remaining).toBe(remaining)
  })

  it('refunds a part of a request exactly, also of a limit that was raised', () => {
    const taken = consume(bucket(10), reserve(UNTOUCHED, 7, 3), 1, 500)
    expect(settle(bucket(10), taken, 7, 0, 500)).toMatchObject({ remaining: 9, resetAfterMs: 1_000 })
    const raised = decideBy(bucket(100), reserve(UNTOUCHED, 7, 3), { type: 'peek', amount: 1 }, 0)
    const takenThen = consume(bucket(100), raised, 1, 500)
    expect(settle(bucket(100), takenThen, 7, 0, 500)).toMatchObject({ remaining: 99, resetAfterMs: 1_000 })
  })

  it('refunds the share that was not used of a limit that was raised, whatever came back meanwhile', () => {
    const both = reserve(reserve(UNTOUCHED, 7, 3), 8, 1)
    // 40 of 100 are used, and after 20 seconds 20: as many as the two requests that are really used count for.
    const raised = decideBy(bucket(100), both, { type: 'peek', amount: 1 }, 0)
    expect(raised.remaining).toBe(60)
    const one = settle(bucket(100), raised, 8, 1, 20_000)
    expect(one.remaining).toBe(80)
    expect(settle(bucket(100), one, 7, 1, 20_000).remaining).toBe(100)
  })
})
