import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Rule } from '../src/core/rule.ts'
import { adjust } from '../src/engine/adjust.ts'
import { consume, peek } from '../src/engine/consume.ts'
import { freshAfterMs, type KeyState, type Transition, UNTOUCHED } from '../src/engine/key-state.ts'
import { runs } from './effort.ts'
import { expectFairness } from './even-traffic.ts'
import type { Parameters, RulePromise } from './rule-promise.ts'
import { act, anyClock, everything, type Moment, play, starts, steps, type Turn, turns, waits } from './schedules.ts'

const CENTURY_MS = 36_525 * 86_400_000

/** Runs every property on random configurations, costs and waits. */
export function describeProperties(promises: readonly RulePromise[]): void {
  describe.each(promises)('$name', describePromise)
}

function describePromise(promise: RulePromise): void {
  const { rules, extremes, most, alignedToClock, periodMs } = promise
  const check = (schedule: fc.Arbitrary<Turn[]>, property: (history: Moment[], rule: Rule) => void): void => {
    fc.assert(
      fc.property(rules, schedule, starts, (rule, turnList, startMs) => {
        property(play(rule, turnList, startMs, periodMs(rule.parameters as Parameters)), rule)
      }),
      { numRuns: runs('schedule') },
    )
  }

  it('is made again from its parameters, by any rule of its kind', () => {
    fc.assert(
      fc.property(rules, rules, (rule, other) => {
        const again = other.withParameters?.(JSON.parse(JSON.stringify(rule.parameters)))
        expect(again).toMatchObject({ identity: rule.identity, limit: rule.limit, windowMs: rule.windowMs })
      }),
    )
  })

  describe('on random schedules', () => {
    it(`never admits more than its bound${alignedToClock ? '' : ', whatever the clock does'}`, () => {
      const wait = alignedToClock ? waits : fc.oneof(waits, steps)
      check(turns(['consume'], wait), (history, rule) => {
        for (const first of history.keys()) {
          let sum = 0
          let passedMs = 0
          for (let index = first; index < history.length; index++) {
            const { amount, nowMs, ruling } = history[index] as Moment
            if (index > first) passedMs += Math.max(0, nowMs - (history[index - 1] as Moment).nowMs)
            if (ruling.allowed) sum += amount
            const bound = most(rule.parameters as Parameters, passedMs)
            if (sum > bound) expect(sum, `within ${passedMs} ms`).toBeLessThanOrEqual(bound)
          }
        }
      })
    })

    it('lets evenly spaced requests pass that come exactly at its limit, or the share of them that it states', () => {
      expectFairness(promise)
    })

    it('refuses at every millisecond before retryAfterMs and allows exactly then', () => {
      check(everything, (history, rule) => {
        for (const { action, amount, ruling, nowMs } of history)
          if (action === 'consume') expectHonest(rule, ruling, amount, nowMs)
      })
    })

    it('is honest about time whatever the clock does', () => {
      check(anyClock, (history, rule) => {
        for (const { action, amount, ruling, nowMs } of history)
          if (action === 'consume') expectHonest(rule, ruling, amount, nowMs)
      })
    })

    it('lets exactly as many requests of cost 1 pass as remaining says', () => {
      check(fc.oneof(everything, anyClock), (history, rule) => {
        for (const { ruling, nowMs } of history) {
          let entry: KeyState = ruling
          for (let left = ruling.remaining; left > 0; left--) {
            const { allowed, remaining, ...taken } = consume(rule, entry, 1, nowMs)
            if (!allowed || remaining !== left - 1)
              expect({ allowed, remaining }).toEqual({ allowed: true, remaining: left - 1 })
            entry = taken
          }
          expect(consume(rule, entry, 1, nowMs).allowed).toBe(false)
        }
      })
    })

    it('says of what it allows when more than remaining passes: refused before, allowed then', () => {
      check(fc.oneof(everything, anyClock), (history, rule) => {
        for (const { ruling, nowMs } of history) {
          const { allowed, remaining, nextAfterMs } = ruling
          if (!allowed || remaining >= rule.limit) {
            expect(nextAfterMs).toBe(allowed ? 0 : undefined)
            continue
          }
          const more = peek(rule, ruling, remaining + 1, nowMs)
          expect(nextAfterMs).toBe(more.retryAfterMs)
          expectHonest(rule, more, remaining + 1, nowMs)
          // One large request may pass where as many small ones would wait too long.
          if (rule.parameters.mode !== 'shape') expect(nextAfterMs).toBeGreaterThan(0)
        }
      })
    })

    it('says it with every step, also with one that is refused or goes into debt', () => {
      check(everything, (history, rule) => {
        for (const { action, amount, before, nowMs } of history) {
          const adjusted = rule.adjust(before.state, nowMs, action === 'refund' ? -amount : amount)
          const { state, remaining, nextAfterMs } =
            action === 'consume' ? rule.step(before.state, nowMs, amount) : rule.step(adjusted.state, nowMs, 0)
          const { retryAfterMs } = rule.step(state, nowMs, remaining + 1)
          expect(nextAfterMs).toBe(remaining >= rule.limit ? 0 : retryAfterMs)
        }
      })
    })

    it('decides of a key that has a state and nothing else as of any other key', () => {
      check(fc.oneof(everything, anyClock), (history, rule) => {
        for (const { amount, before, nowMs } of history) {
          const known = { countedBy: rule, convertedOnRefusal: false }
          // A key that says which rule has counted it takes the long way.
          const [plain, long] = [{}, known].map((stamp) => {
            const transition = consume(rule, { ...UNTOUCHED, state: before.state, ...stamp }, amount, nowMs)
            return [{ ...transition, ...known, state: undefined }, peek(rule, transition, 1, nowMs).resetAfterMs]
          })
          expect(plain).toEqual(long)
        }
      })
    })

    it('changes nothing by a refusal or a peek', () => {
      check(everything, (history, rule) => {
        for (const { action, amount, before, ruling, nowMs } of history) {
          if (action === 'consume' && ruling.allowed) {
            const asked = peek(rule, before, amount, nowMs)
            expect(asked).toMatchObject({ allowed: true, retryAfterMs: 0, delayMs: ruling.delayMs })
            expect(asked.state).toBe(before.state)
          } else if (action === 'consume' || action === 'peek') {
            expect(ruling.state).toBe(before.state)
          }
        }
      })
    })

    it('is pure: the same step from the same state says the same, whatever came after', () => {
      check(fc.oneof(everything, anyClock), (history, rule) => {
        for (const { action, amount, before, ruling, nowMs } of history) {
          const { state: _, ...verdict } = act(rule, before, action, amount, nowMs)
          expect(ruling).toMatchObject(verdict)
        }
      })
    })

    it('refunds what was taken and never more', () => {
      check(everything, (history, rule) => {
        for (const { before, nowMs } of history) {
          const start = peek(rule, before, 1, nowMs)
          const taken = consume(rule, before, 1, nowMs)
          if (taken.allowed) expect(adjust(rule, taken, -1, nowMs).remaining).toBe(start.remaining)
          const all = adjust(rule, before, -1_000_000, nowMs)
          expect(all.remaining).toBe(peek(rule, UNTOUCHED, 1, nowMs).remaining)
          expect(consume(rule, all, rule.limit, nowMs).allowed).toBe(true)
          expect(consume(rule, all, rule.limit + 1, nowMs).reason).toBe('cost-exceeds-limit')
        }
      })
    })

    it('is untouched exactly at resetAfterMs', () => {
      check(fc.oneof(everything, anyClock), (history, rule) => {
        for (const { ruling, nowMs } of history) {
          if (ruling.state === undefined) {
            expect(ruling.resetAfterMs).toBe(0)
            continue
          }
          const freshMs = freshAfterMs(rule, ruling.state, nowMs)
          expect(freshMs).toBe(ruling.resetAfterMs)
          expect(freshAfterMs(rule, ruling.state, nowMs + freshMs)).toBe(0)
          if (freshMs > 1) expect(freshAfterMs(rule, ruling.state, nowMs + freshMs - 1)).toBe(1)
          const then = peek(rule, ruling, 1, nowMs + freshMs)
          const { remaining } = peek(rule, UNTOUCHED, 1, nowMs)
          expect(then).toMatchObject({ allowed: true, remaining, resetAfterMs: 0, delayMs: 0 })
        }
      })
    })

    it('charges into debt and no further than maxDebt', () => {
      check(everything, (history, rule) => {
        for (const { before, nowMs } of history) {
          const once = adjust(rule, before, 1_000_000, nowMs)
          expect(once).toMatchObject({ allowed: false, remaining: 0 })
          const twice = adjust(rule, once, 1_000_000, nowMs)
          expect(twice).toMatchObject({ retryAfterMs: once.retryAfterMs, resetAfterMs: once.resetAfterMs })
          expectHonest(rule, twice, 1, nowMs)
        }
      })
    })

    it('is exact at the largest numbers it takes', () => {
      const shares = fc.array(
        fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }), waitShare: fc.constantFrom(0, 0, 0.3, 1) }),
        {
          minLength: 1,
          maxLength: 20,
        },
      )
      fc.assert(
        fc.property(extremes, shares, starts, (rule, turnList, startMs) => {
          let entry = UNTOUCHED
          let nowMs = startMs
          for (const { share, waitShare } of turnList) {
            const cost = Math.max(1, Math.floor(share * rule.limit))
            const ruling = consume(rule, entry, cost, nowMs)
            expectHonest(rule, ruling, cost, nowMs)
            expect(ruling.remaining).toBeLessThanOrEqual(rule.limit)
            if (ruling.remaining > 0) expect(consume(rule, ruling, ruling.remaining, nowMs).allowed).toBe(true)
            if (ruling.remaining < rule.limit) {
              expect(consume(rule, ruling, ruling.remaining + 1, nowMs).allowed).toBe(false)
            }
            const indebted = adjust(rule, ruling, rule.limit, nowMs)
            expectHonest(rule, indebted, 1, nowMs)
            expectHonest(rule, consume(rule, indebted, rule.limit, nowMs), rule.limit, nowMs)
            entry = ruling
            nowMs += Math.min(CENTURY_MS, Math.floor(ruling.resetAfterMs * waitShare))
          }
        }),
      )
    })

    it('neither mints nor loses by a clock that is set back', () => {
      check(everything, (history, rule) => {
        for (const { ruling } of history) {
          if (ruling.state === undefined) continue
          const { atMs } = ruling.state
          const { remaining } = peek(rule, ruling, 1, atMs)
          // Waited out: nothing has changed since, and the wait is longer by the step.
          const waited = peek(rule, ruling, 1, atMs - 60_000)
          expect(waited.remaining).toBe(remaining)
          expect(waited.state).toBe(ruling.state)
          // Re-anchored, at a time that is in step with the rule's period: the level stays.
          const farMs =
            Math.ceil(3_600_000 / periodMs(rule.parameters as Parameters)) * periodMs(rule.parameters as Parameters)
          const moved = peek(rule, ruling, 1, atMs - Math.max(farMs, 0))
          expect(moved.remaining).toBe(remaining)
          expect(moved.state?.atMs).toBeLessThanOrEqual(atMs - farMs)
        }
      })
    })
  })
}

/**
 * Every millisecond of a short wait, and of a long one both ends and a spread between them. `expect` comes last, where something
 * is wrong: a hundred thousand calls of it take seconds.
 */
function expectHonest(rule: Rule, ruling: Transition, cost: number, nowMs: number): void {
  const { allowed, retryAfterMs } = ruling
  if (allowed) expect(retryAfterMs).toBe(0)
  else expect(retryAfterMs).toBeGreaterThan(0)
  // Past 2^53 ms, some 285,000 years from now, there is no such time to ask about.
  if (allowed || nowMs + retryAfterMs > Number.MAX_SAFE_INTEGER) return
  const passesAt = (waitedMs: number): boolean => consume(rule, ruling, cost, nowMs + waitedMs).allowed
  const stride = Math.max(1, Math.floor(retryAfterMs / 97))
  for (let waitedMs = 0; waitedMs < retryAfterMs; waitedMs += stride) {
    if (passesAt(waitedMs)) expect(waitedMs, 'passes before retryAfterMs').toBe(retryAfterMs)
  }
  if (passesAt(retryAfterMs - 1)) expect(retryAfterMs - 1, 'passes before retryAfterMs').toBe(retryAfterMs)
  if (!passesAt(retryAfterMs)) expect(retryAfterMs, 'is refused at retryAfterMs').toBe('allowed then')
}
