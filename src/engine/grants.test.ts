import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../test/effort.ts'
import { type LendingTurn, lendingModes, lendingRules, lendingTurns, Spenders } from '../../test/lending.ts'
import { type Action, decideBy, operationBy } from '../../test/open-limit.ts'
import { starts } from '../../test/schedules.ts'
import type { GrantRequest } from '../core/operation.ts'
import { findSlotStart, type Rule, type RuleState } from '../core/rule.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../rules/leaky-bucket/leaky-bucket.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { strictWindow } from '../rules/strict-window/strict-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { consume, peek } from './consume.ts'
import { decideAll } from './decide-all.ts'
import { MOST_GRANTS } from './grants.ts'
import { type KeyState, type Transition, UNTOUCHED } from './key-state.ts'

const log = slidingLog({ limit: 100, window: 1_000 })

function ask(holdId: number, amount: number, want: number, more: Partial<GrantRequest> & { ms?: number } = {}): Action {
  const { ms = 100, ...given } = more
  const grant = { want, soon: 0, soonMs: 10, endedId: 0, endedUsed: 0, ...given }
  return { type: 'grant', amount, holdId, holdMs: ms, grant }
}

const ids = ({ grants }: KeyState): number[] => grants?.list.map(({ id }) => id) ?? []

// With grants a waiting time leaves holds out of account.
const withoutHolds = (turn: LendingTurn): LendingTurn => (turn.does === 'reserve' ? { ...turn, does: 'consume' } : turn)

/** A waiting time is too long by no more than the grants last, and one window or slice where a grant runs into the next. */
function mostLateMs(rule: Rule, { state, grants }: KeyState, nowMs: number): number {
  if (grants === undefined) return 0
  const slots = rule.slots?.(rule.adjust(state, nowMs, 1).state as RuleState)
  const runsOn = slots !== undefined && findSlotStart(slots, grants.lastEndMs - 1) > nowMs
  return grants.lastEndMs - nowMs + (runsOn ? slots.lengthMs : 0)
}

function play(rule: Rule, turns: readonly (readonly [number, Action])[]): Transition {
  let stored: KeyState = UNTOUCHED
  for (const [atMs, action] of turns) stored = decideBy(rule, stored, action, atMs)
  return stored as Transition
}

describe.each(lendingModes)('$title with grants', (mode) => {
  it('admits what all processes spent, whenever they spent it', () => {
    fc.assert(
      fc.property(lendingRules(mode), lendingTurns, starts, (rule, turns, startMs) => {
        const spenders = new Spenders(startMs)
        let stored: KeyState = UNTOUCHED
        // A reservation opens a window in which nothing needs to have been spent; and of a pool, several can give back what has been refilled.
        const hasExactHolds = mode.staysOpen !== true && rule.refunds !== 'pool'
        for (const turn of hasExactHolds ? turns : turns.map(withoutHolds)) {
          const action = spenders.next(turn)
          const transition = decideBy(rule, stored, action, spenders.nowMs)
          spenders.answered(turn, action, transition)
          stored = transition
        }
        let replayed: Transition = UNTOUCHED as Transition
        for (const { atMs, units } of spenders.all()) {
          if (units === 0) continue
          replayed = consume(rule, replayed, units, atMs)
          expect(replayed.allowed, `${units} at ${atMs}`).toBe(true)
        }
      }),
      { numRuns: 4 * runs('schedule') },
    )
  })

  it('says when a refused cost passes at the latest, whenever the units of the grants are spent, and when the key is fresh', () => {
    fc.assert(
      fc.property(
        lendingRules(mode),
        lendingTurns,
        starts,
        fc.integer({ min: 1, max: 20 }),
        (rule, turns, startMs, cost) => {
          const spenders = new Spenders(startMs)
          let stored: KeyState = UNTOUCHED
          for (const turn of turns.map(withoutHolds)) {
            const action = spenders.next(turn)
            const transition = decideBy(rule, stored, action, spenders.nowMs)
            spenders.answered(turn, action, transition)
            stored = transition
            const asked = peek(rule, stored, Math.min(cost, rule.limit), spenders.nowMs)
            const at = (ms: number) => peek(rule, stored, Math.min(cost, rule.limit), spenders.nowMs + ms)
            const { retryAfterMs, resetAfterMs } = asked
            expect(at(retryAfterMs).allowed).toBe(true)
            const lateMs = mostLateMs(rule, asked, spenders.nowMs)
            for (const part of retryAfterMs > lateMs ? [0, 0.3, 0.6, 0.9, 1] : []) {
              const ms = Math.floor(part * (retryAfterMs - lateMs - 1))
              expect(at(ms).allowed, `${ms} of ${retryAfterMs}`).toBe(false)
            }
            expect(at(resetAfterMs)).toMatchObject({ resetAfterMs: 0, remaining: rule.limit })
          }
        },
      ),
      { numRuns: runs('schedule') },
    )
  })
})

describe('a grant', () => {
  it.each([
    ['all that is wanted where there is plenty', 1, 0, 49, 100],
    ['half of an even share where there is less', 69, 10, 15, 32],
    ['what is spent soon where there is little', 69, 30, 29, 60],
  ])('is of %s, and less lasts for less time', (_, charged, soon, units, lastsMs) => {
    const granted = play(log, [
      [0, { type: 'charge', amount: charged }],
      [0, ask(1, 1, 50, { soon })],
    ])
    expect(granted).toMatchObject({ allowed: true, granted: { units, lastsMs, live: 1, endsMs: lastsMs } })
    expect(granted.remaining).toBe(100 - charged - 1 - units)
  })

  it('counts in full until it ends, and then as taken in its last millisecond', () => {
    const granted = play(log, [[0, ask(1, 1, 41)]])
    expect(granted).toMatchObject({ remaining: 59, granted: { units: 40, lastsMs: 100 }, resetAfterMs: 1_099 })
    expect(peek(log, granted, 60, 99)).toMatchObject({ allowed: false, remaining: 59, retryAfterMs: 901 })
    expect(peek(log, granted, 60, 100)).toMatchObject({ allowed: false, remaining: 59, retryAfterMs: 900 })
    expect(peek(log, granted, 61, 100)).toMatchObject({ retryAfterMs: 999, grants: undefined })
    expect(peek(log, granted, 100, 1_098)).toMatchObject({ allowed: false, remaining: 60, retryAfterMs: 1 })
    expect(peek(log, granted, 100, 1_099)).toMatchObject({ allowed: true, resetAfterMs: 0, state: undefined })
  })

  it('is settled for what was used of it, once, and never after its end', () => {
    const granted = play(log, [[0, ask(1, 1, 41)]])
    const settle = (amount: number): Action => ({ type: 'settle', holdId: 1, amount })
    const settled = decideBy(log, granted, settle(10), 50)
    expect(settled).toMatchObject({ allowed: true, remaining: 89, grants: undefined, resetAfterMs: 1_000 })
    expect(decideBy(log, settled, settle(0), 50)).toMatchObject({ allowed: false, reason: 'reservation-ended' })
    expect(decideBy(log, granted, settle(0), 100)).toMatchObject({ reason: 'reservation-ended', remaining: 59 })
  })

  it('ends the one before it, also where the request is refused', () => {
    const granted = play(log, [[0, ask(1, 1, 41)]])
    const renewed = decideBy(log, granted, ask(2, 1, 41, { endedId: 1, endedUsed: 20 }), 50)
    expect(renewed).toMatchObject({ remaining: 39, granted: { units: 39, live: 1 } })
    expect(ids(renewed)).toEqual([2])
    const refused = decideBy(log, granted, ask(2, 90, 90, { endedId: 1, endedUsed: 20 }), 50)
    expect(refused).toMatchObject({ allowed: false, remaining: 79, retryAfterMs: 1_000, grants: undefined })
    expect(refused.granted).toEqual({ units: 0, lastsMs: 0, live: 0, endsMs: 0 })
  })

  it('ends with the window or slice of the clock, unless that ends at once: then it counts in both', () => {
    for (const rule of [slidingWindow({ limit: 100, window: 1_000 }), strictWindow({ limit: 100, window: 10_000 })]) {
      expect(play(rule, [[950, ask(1, 1, 41)]]).granted).toMatchObject({ units: 20, lastsMs: 50 })
      expect(play(rule, [[990, ask(1, 1, 41)]]).granted).toMatchObject({ units: 4, lastsMs: 10 })
      expect(play(rule, [[991, ask(1, 1, 41)]]).granted).toMatchObject({ units: 40, lastsMs: 100 })
    }
  })

  it('ends with the window that opened with a first request, and there is none for less than four milliseconds', () => {
    const rule = fixedWindow({ limit: 100, window: 1_000, anchor: 'first-hit' })
    const opened = consume(rule, UNTOUCHED, 1, 500)
    expect(decideBy(rule, opened, ask(1, 1, 41), 1_496).granted).toMatchObject({ units: 2, lastsMs: 4 })
    expect(decideBy(rule, opened, ask(1, 1, 41), 1_497).granted).toMatchObject({ units: 0, lastsMs: 0 })
  })

  it.each([
    ['concurrency', concurrency({ limit: 100, lease: 1_000 })],
    ['a leaky bucket that shapes', leakyBucket({ capacity: 100, leak: 10, period: 1_000, mode: 'shape' })],
  ])('is never given by %s', (_, rule) => {
    const asked = play(rule, [[0, ask(1, 1, 41)]])
    expect(asked).toMatchObject({ allowed: true, remaining: 99, granted: { units: 0, live: 0, endsMs: 0 } })
  })

  it('is not given where a key has 256', () => {
    const rule = slidingLog({ limit: 1_000_000, window: 1_000 })
    let stored: KeyState = UNTOUCHED
    for (let id = 1; id <= MOST_GRANTS; id++) stored = decideBy(rule, stored, ask(id, 1, 41), 0)
    expect(decideBy(rule, stored, ask(999, 1, 41), 0)).toMatchObject({
      allowed: true,
      granted: { units: 0, live: 256 },
    })
    expect(decideBy(rule, stored, ask(999, 1, 41, { endedId: 7 }), 0).granted).toMatchObject({ units: 40, live: 256 })
  })
})

describe('a key with grants', () => {
  const granted = play(log, [[0, ask(1, 1, 41)]])

  it('keeps them through a reset, and forgets the rest', () => {
    const reset = decideBy(log, granted, { type: 'reset' }, 50)
    expect(reset).toMatchObject({ allowed: true, remaining: 60 })
    expect(peek(log, reset, 61, 50).retryAfterMs).toBe(50 + 999)
    expect(decideBy(log, granted, { type: 'reset' }, 100)).toMatchObject({ remaining: 100, grants: undefined })
  })

  it('is blocked as another, and lends nothing then', () => {
    const blocked = decideBy(log, granted, { type: 'block', amount: 500 }, 10)
    expect(decideBy(log, blocked, ask(2, 1, 41), 20)).toMatchObject({
      allowed: false,
      reason: 'blocked',
      granted: { units: 0, live: 1, endsMs: 80 },
    })
    expect(decideBy(log, blocked, { type: 'unblock' }, 20)).toMatchObject({ remaining: 59, block: undefined })
    const full = decideBy(log, granted, { ...ask(2, 60, 99), blockMs: 5_000 }, 20)
    expect(full).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 5_000, granted: { units: 0, live: 1 } })
  })

  it('is charged and refunded beside them, and their units fit below the debt when they end', () => {
    expect(decideBy(log, granted, { type: 'refund', amount: 9 }, 10)).toMatchObject({ remaining: 60 })
    const charged = decideBy(log, granted, { type: 'charge', amount: 500 }, 10)
    // Debt ends at 200, of which 40 are the grant's: they count until 1,099, when the charge has left.
    expect(peek(log, charged, 1, 100)).toMatchObject({ remaining: 0, retryAfterMs: 910 })
    expect(peek(log, charged, 61, 1_010)).toMatchObject({ allowed: false, remaining: 60, retryAfterMs: 89 })
  })

  it('gives holds back beside them, those that have expired after the grants that have ended', () => {
    const rule = tokenBucket({ capacity: 10, refill: 1, period: 1_000 })
    const held = play(rule, [
      [0, { type: 'reserve', amount: 4, holdId: 1, holdMs: 50 }],
      [0, ask(2, 1, 9, { soon: 9 })],
    ])
    expect(held).toMatchObject({ remaining: 0, granted: { units: 5, lastsMs: 67 } })
    expect(peek(rule, held, 1, 49)).toMatchObject({ allowed: false, remaining: 0 })
    expect(peek(rule, held, 4, 50)).toMatchObject({ allowed: true, remaining: 4 })
    // Both have ended. Until then nothing but the first request was used, and little of that has come back.
    expect(peek(rule, held, 4, 200)).toMatchObject({ allowed: true, remaining: 4, grants: undefined, holds: undefined })
  })

  it('gives no hold back what had been refilled when the units of a grant became a part of what is used', () => {
    const rule = tokenBucket({ capacity: 10, refill: 1, period: 1_000 })
    const held = play(rule, [
      [0, { type: 'reserve', amount: 5, holdId: 1, holdMs: 7_000 }],
      [0, ask(2, 1, 5, { soon: 5, ms: 6_000, soonMs: 6_000 })],
    ])
    // 4 were used at 5,999, when 5.999 of 6 had come back.
    expect(peek(rule, held, 1, 7_000)).toMatchObject({ remaining: 7, resetAfterMs: 2_999 })
  })

  it('says when a refused cost passes at the latest: as if all units were spent when the last grant ends', () => {
    const rule = tokenBucket({ capacity: 10, refill: 100, period: 1_000 })
    const lent = play(rule, [
      [0, ask(1, 1, 5, { soon: 5, ms: 20 })],
      [0, ask(2, 1, 5, { soon: 5, ms: 40 })],
    ])
    expect(lent).toMatchObject({ remaining: 0, granted: { units: 4, live: 2, endsMs: 40 } })
    // From 20 on it passes, if no more is spent.
    expect(peek(rule, lent, 2, 0).retryAfterMs).toBe(39)
    expect(peek(rule, lent, 6, 0).retryAfterMs).toBe(39 + 40)
    expect(peek(rule, lent, 10, 0).retryAfterMs).toBe(39 + 80)
  })

  it('says so by the window or slice in which that is', () => {
    const rule = fixedWindow({ limit: 100, window: 1_000 })
    const peekAfter = (askedMs: number, cost: number): number =>
      peek(rule, play(rule, [[askedMs, ask(1, 60, 100)]]), cost, 999).retryAfterMs
    expect(peekAfter(950, 90)).toBe(1)
    // The grant of 20 runs into the next window, and what is spent there counts until the end of that.
    expect(peekAfter(995, 80)).toBe(1)
    expect(peekAfter(995, 81)).toBe(1_001)
  })

  it('takes them along when the clock is set back for good, and never for longer than a minute', () => {
    const startMs = 3_600_000
    const lent = play(log, [[startMs, ask(1, 1, 41)]])
    expect(peek(log, lent, 61, 1_000).grants).toMatchObject({ firstEndMs: 1_100, lastEndMs: 1_100 })
    const only = decideBy(log, lent, { type: 'reset' }, startMs)
    expect(peek(log, only, 61, 1_000).grants).toMatchObject({ firstEndMs: 61_000, lastEndMs: 61_000 })
    expect(peek(log, only, 61, startMs - 30_000).grants).toBe(only.grants)
  })

  it('keeps them as they are when its rule changes', () => {
    const more = slidingLog({ limit: 200, window: 1_000 })
    expect(peek(more, granted, 160, 50)).toMatchObject({ allowed: false, remaining: 158 })
    expect(peek(more, granted, 1, 50).grants?.sum).toBe(40)
  })

  it('gives none where another key of the call refuses, and ends the one before it', () => {
    const operations = [
      operationBy(log, ask(2, 1, 41, { endedId: 1, endedUsed: 30 })),
      operationBy(log, { type: 'consume', amount: 101 }),
    ]
    const [asked] = decideAll(operations, [granted, UNTOUCHED], 50).transitions
    expect(asked).toMatchObject({ allowed: true, remaining: 69, granted: { units: 0, lastsMs: 0, live: 0, endsMs: 0 } })
  })
})
