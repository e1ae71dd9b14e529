import { describe, expect, it } from 'vitest'
import { operationBy } from '../../test/open-limit.ts'
import type { Rule } from '../core/rule.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { decide } from './decide.ts'
import { type KeyState, type Transition, UNTOUCHED } from './key-state.ts'

const day = 86_400_000
const kinds: readonly (readonly [string, (limit: number) => Rule])[] = [
  ['a fixed window', (limit) => fixedWindow({ limit, windowMs: day })],
  ['a sliding log', (limit) => slidingLog({ limit, windowMs: day })],
  ['a token bucket', (limit) => tokenBucket({ capacity: limit, refill: 1, periodMs: day })],
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

  it.each([
    [10, 100],
    [100, 10],
    [10, 10],
    [7, 100],
  ])('from %i to %i: gives back as much when nothing is used as when it expires', (before, after) => {
    const stored = peek(after, reserve(before, 3), 0)
    expect(settle(after, stored, 0).remaining).toBe(peek(after, stored, 1_000).remaining)
  })
})
