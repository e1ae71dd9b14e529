import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Rule } from '../src/core/rule.ts'
import { adjust } from '../src/engine/adjust.ts'
import { consume, peek } from '../src/engine/consume.ts'
import { type KeyState, UNTOUCHED } from '../src/engine/key-state.ts'
import { runs } from './effort.ts'
import { decideBy } from './open-limit.ts'
import { everyMode, GOOD, randomRules, ruleOf } from './rule-registry.ts'
import { starts } from './schedules.ts'

// The rule of a key changes, to another of the same kind with other numbers.

const small = fc.integer({ min: 1, max: 40 })
const numbers = { limit: small, timeMs: fc.constantFrom(7, 250, 999, 61_000), rate: small }
// What is leased comes back with its lease, and is not a share of anything.
const kinds = everyMode
  .map((mode) => [mode.title, randomRules(mode, numbers), ruleOf(mode, GOOD).refunds] as const)
  .filter(([, , refunds]) => refunds !== 'lease')
const takes = fc.array(fc.record({ cost: fc.integer({ min: 1, max: 12 }), wait: fc.nat(400) }), {
  maxLength: 20,
  size: 'max',
})

function used(rule: Rule, turns: readonly { cost: number; wait: number }[], startMs: number) {
  let entry: KeyState = UNTOUCHED
  let nowMs = startMs
  for (const { cost, wait } of turns) {
    nowMs += wait
    entry = consume(rule, entry, cost, nowMs)
  }
  return { entry, nowMs }
}

describe.each(kinds)('when the limit of a %s changes', (_, kind) => {
  it('what is used keeps its share, rounded up', () => {
    fc.assert(
      fc.property(kind, kind, takes, starts, (before, after, turns, startMs) => {
        const { entry, nowMs } = used(before, turns, startMs)
        const usedUnits = before.limit - peek(before, entry, 1, nowMs).remaining
        const { remaining } = peek(after, entry, 1, nowMs)
        expect(remaining).toBeGreaterThanOrEqual(after.limit - Math.ceil((usedUnits * after.limit) / before.limit))
        // A bucket knows what is used to a part of a request.
        const parts = before.refunds === 'pool' && usedUnits > 0 ? usedUnits - 1 : usedUnits
        expect(remaining).toBeLessThanOrEqual(after.limit - Math.ceil((parts * after.limit) / before.limit))
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('a cost waits no longer than after using the new limit up, and its retryAfterMs is right', () => {
    fc.assert(
      fc.property(kind, kind, takes, starts, (before, after, turns, startMs) => {
        const { entry, nowMs } = used(before, turns, startMs)
        const asked = consume(after, entry, 1, nowMs)
        const usedUp = adjust(after, UNTOUCHED, after.limit, nowMs)
        expect(asked.retryAfterMs).toBeLessThanOrEqual(consume(after, usedUp, 1, nowMs).retryAfterMs)
        if (asked.allowed) return
        // The first refusal has stored the change, so trying in between does not push the end back.
        const half = consume(after, asked, 1, nowMs + Math.floor(asked.retryAfterMs / 2))
        expect(consume(after, half, 1, nowMs + asked.retryAfterMs).allowed).toBe(true)
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('callers who disagree about the rule shut no key out', () => {
    fc.assert(
      fc.property(kind, kind, fc.integer({ min: 1, max: 300 }), starts, (one, other, stepMs, startMs) => {
        const worstMs = [one, other].reduce((sum, rule) => {
          return sum + adjust(rule, UNTOUCHED, rule.limit, startMs).resetAfterMs
        }, stepMs)
        let entry: KeyState = adjust(one, UNTOUCHED, one.limit, startMs)
        for (let waitedMs = 0, turn = 0; ; waitedMs += stepMs, turn++) {
          // Asked so often that expect() itself would take most of the time.
          if (waitedMs > worstMs + stepMs) expect.fail(`still refused after ${waitedMs} ms of ${worstMs}`)
          const ruling = consume(turn % 2 === 0 ? other : one, entry, 1, startMs + waitedMs)
          if (ruling.allowed) return
          entry = ruling
        }
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('going back and forth gives nothing', () => {
    fc.assert(
      fc.property(kind, kind, takes, starts, (before, after, turns, startMs) => {
        const { entry, nowMs } = used(before, turns, startMs)
        const { remaining } = peek(before, entry, 1, nowMs)
        const there = decideBy(after, entry, { type: 'charge', amount: 1 }, nowMs)
        expect(peek(before, there, 1, nowMs).remaining).toBeLessThanOrEqual(remaining)
      }),
      { numRuns: runs('schedule') },
    )
  })
})
