import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mapStore } from '../../../test/map-store.ts'
import { openLimit } from '../../../test/open-limit.ts'
import { everyMode, ruleOf } from '../../../test/rule-registry.ts'
import { type Action, requestOf } from '../../../test/schedules.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../../rules/leaky-bucket/leaky-bucket.ts'
import { strictWindow } from '../../rules/strict-window/strict-window.ts'
import { memoryStore } from './memory-store.ts'

// Every rule, and what is particular: counts too large to pack, and a wait that is bounded.
const rules: readonly Rule[] = [
  ...everyMode.map((mode) => ruleOf(mode, { limit: 7, timeMs: 1_000, rate: 7, parts: 4 })),
  strictWindow({ limit: 2 ** 40, window: 1_000, slices: 3 }),
  leakyBucket({ capacity: 7, leak: 7, period: 1_000, mode: 'shape', maxWait: 600 }),
]

const actions = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Action>('consume') },
  { weight: 1, arbitrary: fc.constantFrom<Action>('peek', 'charge', 'refund', 'block', 'unblock', 'reset') },
)

const turn = (waitMs: fc.Arbitrary<number>): fc.Arbitrary<Turn> =>
  fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    action: actions,
    // Some that the rule can never let pass, and some that fill what is packed.
    amount: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(1, 2 ** 26 - 1, 2 ** 26)),
    waitMs,
  })

interface Turn {
  readonly key: string
  readonly action: Action
  readonly amount: number
  readonly waitMs: number
}

/** Both stores' verdicts on the same turns. */
function verdicts(rule: Rule, turns: readonly Turn[]): { memory: LimitResult[]; frame: LimitResult[] } {
  const place = { limiter: 'compared', rule }
  const [memory, frame] = [memoryStore(), mapStore()]
    .map((store) => openLimit(store, place))
    .map((oneLimit) => {
      // Far enough from either end of a window that the steps below stay in it.
      let nowMs = 1_700_000_000_400
      return turns.map(({ key, action, amount, waitMs }) => {
        nowMs += waitMs
        return plain(oneLimit.decide(key, requestOf(action, amount), nowMs) as LimitResult)
      })
    }) as [LimitResult[], LimitResult[]]
  return { memory, frame }
}

function plain({
  allowed,
  remaining,
  retryAfterMs,
  resetAfterMs,
  delayMs,
  reason,
  nextAfterMs,
}: LimitResult): LimitResult {
  return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs }
}

describe('a memory store decides as the engine does', () => {
  it.each(rules.map((rule) => [rule.kind, rule] as const))('on random schedules: %s', (_, rule) => {
    const waitMs = fc.constantFrom(0, 0, 1, 85, 142, 143, 250, 499, 999, 1_000, 1_001, 5_000)
    fc.assert(
      fc.property(fc.array(turn(waitMs), { maxLength: 60, size: 'max' }), (turns) => {
        const { memory, frame } = verdicts(rule, turns)
        expect(memory).toEqual(frame)
      }),
    )
  })

  it.each(rules.map((rule) => [rule.kind, rule] as const))('on a clock that steps back: %s', (_, rule) => {
    // Less ahead than back, so that nothing expires: what has expired and is forgotten does not come back with the clock.
    const waitMs = fc.constantFrom(0, 1, 2, -1, -5, -60_001)
    fc.assert(
      fc.property(fc.array(turn(waitMs), { maxLength: 30 }), (turns) => {
        const counted = turns.filter(({ action }) => action === 'consume' || action === 'charge')
        const { memory, frame } = verdicts(rule, counted)
        expect(memory).toEqual(frame)
      }),
    )
  })
})

it('stores nothing for a cost of 0', () => {
  const store = memoryStore()
  const oneLimit = openLimit(store, { limiter: 'a', rule: fixedWindow({ limit: 5, window: 1_000 }) })
  expect(plain(oneLimit.decide('key', { type: 'consume', amount: 0 }, 0) as LimitResult)).toEqual({
    allowed: true,
    remaining: 5,
    retryAfterMs: 0,
    resetAfterMs: 0,
    delayMs: 0,
    reason: undefined,
    nextAfterMs: 0,
  })
  expect(store.stats().keys).toBe(0)
})
