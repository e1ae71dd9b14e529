import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Rule } from '../src/core/rule.ts'
import { consume, peek } from '../src/engine/consume.ts'
import { countWalked, type Hold } from '../src/engine/holds.ts'
import { type KeyState, type Transition, UNTOUCHED } from '../src/engine/key-state.ts'
import { runs } from './effort.ts'
import { type Action, decideBy } from './open-limit.ts'
import { everyMode, randomRules } from './rule-registry.ts'
import { starts } from './schedules.ts'
import { kinds } from './tier-twin.ts'

const rules = fc.oneof(...kinds)
const amounts = fc.integer({ min: 1, max: 6 })
const waits = fc.oneof(fc.constantFrom(0, 1, 249, 250, 251, 999), fc.nat(1_500))
const holdTimes = fc.oneof(fc.constantFrom(1, 250, 999), fc.integer({ min: 1, max: 2_000 }))

interface Turn {
  readonly request: Action
  readonly wait: number
}

const steps = fc.constantFrom(-1, -7, -250, -999, -30_000, -60_000, -60_001, -3_600_000)

const turn = (wait: fc.Arbitrary<number>): fc.Arbitrary<Turn> =>
  fc.record({
    request: fc.oneof(
      fc.record({ type: fc.constant('consume' as const), amount: amounts }),
      fc.record({ type: fc.constant('reserve' as const), amount: amounts, holdId: fc.nat(4), holdMs: holdTimes }),
      fc.record({ type: fc.constant('settle' as const), amount: fc.nat(8), holdId: fc.nat(4) }),
      fc.record({ type: fc.constant('extend' as const), holdId: fc.nat(4), holdMs: holdTimes }),
      fc.record({ type: fc.constantFrom('charge' as const, 'refund' as const), amount: amounts }),
    ),
    wait,
  })
const LENGTH = { minLength: 1, maxLength: 15, size: 'max' } as const
const schedule = fc.array(turn(waits), LENGTH)
const anyClock = fc.array(turn(fc.oneof(waits, steps)), LENGTH)

function play(
  rule: Rule,
  turns: readonly Turn[],
  startMs: number,
  visit: (ruling: Transition, nowMs: number) => void,
): void {
  let entry: KeyState = UNTOUCHED
  let nowMs = startMs
  for (const { request, wait } of turns) {
    const ruling = decideBy(rule, entry, request, nowMs)
    entry = ruling
    visit(ruling, nowMs)
    nowMs = Math.max(0, nowMs + wait)
  }
}

describe.each([
  ['a clock that runs straight', schedule],
  ['any clock', anyClock],
])('a key with holds, by %s,', (_, turnList) => {
  it('returns the first instant at which a cost passes if no other request comes: refused before it, allowed then', () => {
    fc.assert(
      fc.property(rules, turnList, starts, amounts, (rule, turns, startMs, cost) => {
        play(rule, turns, startMs, (entry, nowMs) => {
          const asked = consume(rule, entry, cost, nowMs)
          if (asked.allowed || cost > rule.limit) return
          const { retryAfterMs } = asked
          const checked = [0, 1, Math.floor(retryAfterMs / 2), retryAfterMs - 2, retryAfterMs - 1]
          for (const waitedMs of checked.filter((ms) => ms >= 0 && ms < retryAfterMs)) {
            expect(consume(rule, asked, cost, nowMs + waitedMs).allowed, `${waitedMs} of ${retryAfterMs}`).toBe(false)
          }
          expect(consume(rule, asked, cost, nowMs + retryAfterMs).allowed, `at ${retryAfterMs}`).toBe(true)
        })
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('says of what it allows when more than remaining passes', () => {
    fc.assert(
      fc.property(rules, turnList, starts, (rule, turns, startMs) => {
        play(rule, turns, startMs, (ruling, nowMs) => {
          const { allowed, remaining, nextAfterMs } = ruling
          const more = peek(rule, ruling, remaining + 1, nowMs)
          expect(nextAfterMs).toBe(!allowed ? undefined : remaining < rule.limit ? more.retryAfterMs : 0)
        })
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('is as if untouched after resetAfterMs at the latest, and exactly then without holds', () => {
    fc.assert(
      fc.property(rules, turnList, starts, (rule, turns, startMs) => {
        play(rule, turns, startMs, (entry, nowMs) => {
          // A look after a large step back is kept.
          const asked = peek(rule, entry, 1, nowMs)
          const { resetAfterMs } = asked
          expect(peek(rule, asked, 1, nowMs + resetAfterMs)).toMatchObject({
            resetAfterMs: 0,
            remaining: peek(rule, UNTOUCHED, 1, nowMs).remaining,
          })
          if (resetAfterMs <= 1) return
          const before = peek(rule, asked, 1, nowMs + resetAfterMs - 1).resetAfterMs
          expect(before).toBeLessThanOrEqual(1)
          if (asked.holds === undefined) expect(before).toBe(1)
        })
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('is as if untouched exactly after resetAfterMs where all that is held is used', () => {
    fc.assert(
      fc.property(rules, turnList, starts, (rule, turns, startMs) => {
        play(rule, turns, startMs, (entry, nowMs) => {
          const asked = peek(rule, entry, 1, nowMs)
          const { holds } = asked
          if (holds === undefined) return
          // Of two holds with one id the first to expire is settled, which may be over by then.
          if (new Set(holds.list.map(({ id }) => id)).size < holds.list.length) return
          const lastMs = (holds.list.at(-1) as Hold).untilMs
          const used = holds.list.reduce<KeyState>((stored, { id, amount }) => {
            return decideBy(rule, stored, { type: 'settle', holdId: id, amount }, nowMs)
          }, asked)
          const freshMs = peek(rule, used, 1, nowMs).resetAfterMs
          expect(asked.resetAfterMs).toBe(Math.max(freshMs, lastMs - nowMs))
        })
      }),
      { numRuns: runs('schedule') },
    )
  })
})

const crowd = fc.array(fc.record({ amount: fc.integer({ min: 1, max: 2 }), holdMs: holdTimes, wait: fc.nat(10) }), {
  minLength: 65,
  maxLength: 130,
  size: 'max',
})
const roomy = { limit: fc.integer({ min: 60, max: 90 }), timeMs: fc.constantFrom(250, 61_000), rate: amounts }
const roomyRules = fc.oneof(...everyMode.map((mode) => randomRules(mode, roomy)))

describe('a key with more holds than a waiting time looks at', () => {
  it('gives a refusal a time at which the cost passes, though it may pass before', () => {
    let crowded = 0
    fc.assert(
      fc.property(roomyRules, crowd, starts, fc.integer({ min: 1, max: 40 }), (rule, holdList, startMs, cost) => {
        let entry: KeyState = UNTOUCHED
        let nowMs = startMs
        for (const [index, { wait, ...held }] of holdList.entries()) {
          entry = decideBy(rule, entry, { type: 'reserve', holdId: index + 1, ...held }, nowMs)
          nowMs += wait
        }
        const asked = consume(rule, entry, cost, nowMs)
        if (asked.allowed) return
        if ((asked.holds?.list.length ?? 0) > countWalked(rule)) crowded++
        expect(consume(rule, asked, cost, nowMs + asked.retryAfterMs).allowed).toBe(true)
      }),
      { numRuns: runs('schedule') },
    )
    expect(crowded).toBeGreaterThan(0)
  })
})

describe('a key with holds', () => {
  it.each(['settled with nothing used', 'never settled'])(
    'leaves exactly what would be there if the hold had not been, when it is %s',
    (ending) => {
      const others = fc.array(fc.record({ amount: amounts, wait: waits }), { maxLength: 12, size: 'max' })
      const holds = fc.record({ amount: amounts, holdMs: fc.integer({ min: 1, max: 4_000 }) })
      fc.assert(
        fc.property(rules, others, others, holds, starts, (rule, before, during, { amount, holdMs }, startMs) => {
          // A window that a hold has opened stays where it is, also for what comes after it.
          fc.pre(rule.parameters.anchor !== 'first-hit')
          // A lease lasts for as long as its rule says.
          const held = { amount, holdMs: Number(rule.parameters.leaseMs ?? holdMs) }
          let nowMs = startMs
          let withHold: KeyState = UNTOUCHED
          let without: KeyState = UNTOUCHED
          const take = ({ amount, wait }: { amount: number; wait: number }): void => {
            nowMs += wait
            const taken = consume(rule, withHold, amount, nowMs)
            if (!taken.allowed) return
            withHold = taken
            const same = consume(rule, without, amount, nowMs)
            expect(same.allowed).toBe(true)
            without = same
          }
          for (const other of before) take(other)
          const hold = decideBy(rule, withHold, { type: 'reserve', holdId: 1, ...held }, nowMs)
          if (!hold.allowed) return
          const untilMs = nowMs + held.holdMs
          withHold = hold
          for (const other of during) if (nowMs + other.wait < untilMs) take(other)
          if (ending === 'never settled') nowMs = untilMs
          else withHold = decideBy(rule, withHold, { type: 'settle', holdId: 1, amount: 0 }, nowMs)
          const left = peek(rule, withHold, 1, nowMs).remaining
          const asIfNever = peek(rule, without, 1, nowMs).remaining
          expect(left).toBe(asIfNever)
        }),
        { numRuns: runs('schedule') },
      )
    },
  )

  it('lets a hold that is renewed end later and changes nothing else, in debt too', () => {
    const debts = fc.integer({ min: 0, max: 20 })
    fc.assert(
      fc.property(rules, amounts, debts, waits, holdTimes, starts, (rule, amount, debt, wait, holdMs, startMs) => {
        // A lease lasts for as long as its rule says.
        const heldMs = Number(rule.parameters.leaseMs ?? wait + 1)
        if (wait >= heldMs) return
        const hold = (entry: KeyState, holdId: number) =>
          decideBy(rule, entry, { type: 'reserve', holdId, amount, holdMs: heldMs }, startMs)
        const other = hold(hold(UNTOUCHED, 1), 2)
        if (!other.allowed) return
        const charged = debt === 0 ? other : decideBy(rule, other, { type: 'charge', amount: debt }, startMs)
        const nowMs = startMs + wait
        const renewedMs = Number(rule.parameters.leaseMs ?? heldMs + holdMs)
        const renewed = decideBy(rule, charged, { type: 'extend', holdId: 1, holdMs: renewedMs }, nowMs)
        expect(renewed).toMatchObject({ allowed: true, remaining: peek(rule, charged, 1, nowMs).remaining })
        const settle = (entry: KeyState, holdId: number, atMs: number) =>
          decideBy(rule, entry, { type: 'settle', holdId, amount: 0 }, atMs)
        expect(settle(renewed, 1, nowMs).remaining).toBe(settle(charged, 1, nowMs).remaining)
        expect(settle(renewed, 2, startMs + heldMs).reason).toBe('reservation-ended')
        expect(settle(renewed, 1, nowMs + renewedMs - 1).allowed).toBe(true)
        expect(settle(renewed, 1, nowMs + renewedMs).reason).toBe('reservation-ended')
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('ends a hold once: by settling or by expiring, whatever is tried after that', () => {
    fc.assert(
      fc.property(rules, amounts, holdTimes, waits, fc.nat(9), starts, (rule, amount, holdMs, wait, used, startMs) => {
        const hold = decideBy(rule, UNTOUCHED, { type: 'reserve', holdId: 7, amount, holdMs }, startMs)
        if (!hold.allowed) return
        const nowMs = startMs + wait
        const once = decideBy(rule, hold, { type: 'settle', holdId: 7, amount: used }, nowMs)
        const twice = decideBy(rule, once, { type: 'settle', holdId: 7, amount: used }, nowMs)
        expect(once.allowed).toBe(wait < holdMs)
        expect(twice).toMatchObject({
          allowed: false,
          reason: 'reservation-ended',
          retryAfterMs: Number.POSITIVE_INFINITY,
        })
        expect(twice.remaining).toBe(once.remaining)
        expect(twice.state).toBe(once.state)
      }),
    )
  })
})
