import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Rule } from '../src/core/rule.ts'
import { adjust } from '../src/engine/adjust.ts'
import { consume, peek } from '../src/engine/consume.ts'
import { type KeyState, type Transition, UNTOUCHED } from '../src/engine/key-state.ts'
import * as rules from '../src/rules/index.ts'
import { runs } from './effort.ts'
import { outlivingKinds } from './outliving-kinds.ts'
import { starts } from './schedules.ts'

// Two limiters of one name, or one before and after its file was edited, count the same keys by different numbers. Their states
// carry no rule: each says itself what counted it.

const takes = fc.array(fc.record({ cost: fc.integer({ min: 1, max: 12 }), wait: fc.nat(400) }), {
  maxLength: 20,
  size: 'max',
})

/** Without `countedBy`, as a store keeps what a limiter without a policy function counts. */
function kept({ state, block, holds }: Transition): KeyState {
  return { state, block, holds }
}

function played(rule: Rule, turns: readonly { cost: number; wait: number }[], startMs: number) {
  let entry: KeyState = UNTOUCHED
  let nowMs = startMs
  for (const { cost, wait } of turns) {
    nowMs += wait
    entry = kept(consume(rule, entry, cost, nowMs))
  }
  return { entry, nowMs }
}

const usedOf = (rule: Rule, entry: KeyState, nowMs: number): number =>
  rule.limit - peek(rule, entry, 1, nowMs).remaining

// What remains of a shaper is what may still wait in time, and so tells less of what is used.
const plainKinds = outlivingKinds.filter(([title]) => !title.endsWith('as a shaper'))

describe.each(plainKinds)('when the numbers of a %s change', (_, kind, { knowsTimes }) => {
  it('what is used stays used', () => {
    fc.assert(
      fc.property(kind, kind, takes, fc.nat(300), starts, (before, after, turns, laterMs, startMs) => {
        const { entry, nowMs: lastMs } = played(before, turns, startMs)
        const nowMs = lastMs + laterMs
        const used = usedOf(before, entry, nowMs)
        // A log knows when: what is older than the new window has left it.
        if (knowsTimes !== true || spanOf(after) >= spanOf(before)) {
          expect(usedOf(after, entry, nowMs)).toBe(Math.min(after.limit, used))
        } else expect(usedOf(after, entry, nowMs)).toBeLessThanOrEqual(used)
      }),
      { numRuns: runs('schedule') },
    )
  })
})

describe.each(plainKinds)('when the numbers of a %s change', (_, kind) => {
  it('a charge counts beside what is used, and a refund returns no more than it says', () => {
    const amounts = fc.integer({ min: 1, max: 9 })
    fc.assert(
      fc.property(kind, kind, takes, fc.nat(300), amounts, starts, (before, after, turns, laterMs, amount, startMs) => {
        const { entry, nowMs: lastMs } = played(before, turns, startMs)
        const nowMs = lastMs + laterMs
        const used = usedOf(after, entry, nowMs)
        const charged = adjust(after, entry, amount, nowMs)
        expect(usedOf(after, kept(charged), nowMs)).toBe(Math.min(after.limit, used + amount))
        const refunded = usedOf(after, kept(adjust(after, entry, -amount, nowMs)), nowMs)
        expect(refunded).toBeLessThanOrEqual(used)
        if (used < after.limit) expect(refunded).toBeGreaterThanOrEqual(Math.max(0, used - amount))
      }),
      { numRuns: runs('schedule') },
    )
  })
})

describe.each(outlivingKinds)('when the numbers of a %s change', (_, kind) => {
  it('a refusal names the right time, however often the client tries', () => {
    fc.assert(
      fc.property(kind, kind, takes, fc.integer({ min: 1, max: 5 }), starts, (before, after, turns, cost, startMs) => {
        const { entry, nowMs } = played(before, turns, startMs)
        const asked = consume(after, entry, cost, nowMs)
        if (cost > after.limit || asked.allowed) return
        const { retryAfterMs } = asked
        let next = kept(asked)
        for (const share of [0.2, 0.5, 0.9]) {
          const then = consume(after, next, cost, nowMs + Math.floor(retryAfterMs * share))
          expect(then.allowed).toBe(false)
          next = kept(then)
        }
        expect(consume(after, next, cost, nowMs + retryAfterMs - 1).allowed).toBe(false)
        expect(consume(after, next, cost, nowMs + retryAfterMs).allowed).toBe(true)
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('what is allowed says when more than remaining passes', () => {
    fc.assert(
      fc.property(kind, kind, takes, fc.integer({ min: 1, max: 5 }), starts, (before, after, turns, cost, startMs) => {
        const { entry, nowMs } = played(before, turns, startMs)
        const rulings = [peek, consume, adjust].map((ask) => ask(after, entry, cost, nowMs))
        for (const ruling of [...rulings, adjust(after, entry, -cost, nowMs)]) {
          const { allowed, remaining, nextAfterMs } = ruling
          const more = peek(after, kept(ruling), remaining + 1, nowMs)
          expect(nextAfterMs).toBe(!allowed ? undefined : remaining < after.limit ? more.retryAfterMs : 0)
        }
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('no request waits longer than after the new limit and its debt were used up', () => {
    fc.assert(
      fc.property(kind, kind, takes, starts, (before, after, turns, startMs) => {
        const { entry, nowMs } = played(before, turns, startMs)
        const { retryAfterMs } = consume(after, entry, 1, nowMs)
        const indebted = adjust(after, UNTOUCHED, after.limit + Number(after.parameters.maxDebt), nowMs)
        expect(retryAfterMs).toBeLessThanOrEqual(indebted.resetAfterMs)
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('callers who disagree about the numbers shut no key out', () => {
    fc.assert(
      fc.property(kind, kind, fc.integer({ min: 1, max: 300 }), starts, (one, other, stepMs, startMs) => {
        let entry: KeyState = kept(adjust(one, UNTOUCHED, one.limit, startMs))
        const worstMs = adjust(one, UNTOUCHED, one.limit, startMs).resetAfterMs
        for (let waitedMs = 0, turn = 0; ; waitedMs += stepMs, turn++) {
          if (waitedMs > worstMs + 2 * stepMs) expect.fail(`still refused after ${waitedMs} ms of ${worstMs}`)
          const ruling = consume(turn % 2 === 0 ? other : one, entry, 1, startMs + waitedMs)
          if (ruling.allowed) return
          entry = kept(ruling)
        }
      }),
      { numRuns: runs('schedule') },
    )
  })

  it('it is as if untouched when the one that counted it says so, at the latest', () => {
    fc.assert(
      fc.property(kind, kind, takes, starts, (before, after, turns, startMs) => {
        const { entry, nowMs } = played(before, turns, startMs)
        const { resetAfterMs } = peek(before, entry, 1, nowMs)
        const fresh = peek(after, entry, 1, nowMs + resetAfterMs)
        expect(fresh).toMatchObject({
          allowed: true,
          remaining: peek(after, UNTOUCHED, 1, 0).remaining,
          resetAfterMs: 0,
        })
        const asked = peek(after, entry, 1, nowMs)
        expect(peek(after, kept(asked), 1, nowMs + asked.resetAfterMs).resetAfterMs).toBe(0)
        if (asked.resetAfterMs > 0)
          expect(peek(after, kept(asked), 1, nowMs + asked.resetAfterMs - 1).resetAfterMs).toBe(1)
      }),
      { numRuns: runs('schedule') },
    )
  })
})

describe('a bucket whose period changes', () => {
  const token = (periodMs: number) => rules.tokenBucket({ capacity: 100, refill: 100, period: periodMs })
  const leaky = (periodMs: number) => rules.leakyBucket({ capacity: 100, leak: 100, period: periodMs })

  it.each([
    ['token bucket', token],
    ['leaky bucket', leaky],
  ])('keeps 10 of 100 used: %s', (_, bucket) => {
    const entry = kept(consume(bucket(600_000), UNTOUCHED, 10, 5_000))
    expect(peek(bucket(86_400_000), entry, 1, 5_000)).toMatchObject({ allowed: true, remaining: 90 })
    expect(peek(bucket(1), entry, 1, 5_000)).toMatchObject({ allowed: true, remaining: 90 })
  })
})

describe('a bucket of other numbers', () => {
  const bucket = (capacity: number, periodMs: number, maxDebt = 0) =>
    rules.tokenBucket({ capacity, refill: 1, period: periodMs, maxDebt })

  it('keeps the part of a request that is used', () => {
    const entry = kept(consume(bucket(10, 1_000), UNTOUCHED, 3, 0))
    expect(peek(bucket(10, 500), entry, 1, 500)).toMatchObject({ remaining: 7, resetAfterMs: 1_250 })
  })

  it('keeps the largest numbers exactly', () => {
    const day = 86_400_000
    const entry = kept(consume(bucket(100_000_000, day), UNTOUCHED, 99_999_999, 0))
    const seen = peek(bucket(100_000_000, day - 1), entry, 1, 0)
    expect(seen).toMatchObject({ remaining: 1, resetAfterMs: 99_999_999 * (day - 1) })
  })

  it('owes no more than its capacity and its debt, when only those are less', () => {
    const entry = kept(adjust(bucket(10, 1_000, 10), UNTOUCHED, 20, 0))
    expect(peek(bucket(10, 1_000, 10), entry, 1, 0)).toMatchObject({ retryAfterMs: 11_000, resetAfterMs: 20_000 })
    expect(peek(bucket(2, 1_000, 3), entry, 1, 0)).toMatchObject({ retryAfterMs: 4_000, resetAfterMs: 5_000 })
  })
})

describe('a window of another length', () => {
  const window = (windowMs: number) => rules.fixedWindow({ limit: 10, window: windowMs, anchor: 'first-hit' })
  const entry = kept(consume(window(1_000), UNTOUCHED, 4, 300))

  it('counts by the old one until something is counted: a peek and a refund change no time', () => {
    expect(peek(window(60_000), entry, 1, 500)).toMatchObject({ remaining: 6, resetAfterMs: 800 })
    expect(adjust(window(60_000), entry, -1, 500)).toMatchObject({ remaining: 7, resetAfterMs: 800 })
    expect(adjust(window(60_000), entry, -1, 500, 300)).toMatchObject({ remaining: 7, resetAfterMs: 800 })
    expect(adjust(window(60_000), entry, -1, 500, 299)).toMatchObject({ remaining: 6, resetAfterMs: 800 })
    expect(adjust(window(60_000), entry, 0, 500)).toMatchObject({ remaining: 6, resetAfterMs: 800 })
  })

  it('counts a charge, and with it all that is used, from now on', () => {
    expect(adjust(window(60_000), entry, 1, 500)).toMatchObject({ remaining: 5, resetAfterMs: 60_000 })
    expect(adjust(window(60_000), entry, 1, 1_299)).toMatchObject({ remaining: 5, resetAfterMs: 60_000 })
    expect(adjust(window(60_000), entry, 1, 1_300)).toMatchObject({ remaining: 9, resetAfterMs: 60_000 })
    expect(adjust(window(60_000), entry, -1, 1_300)).toMatchObject({ remaining: 10, resetAfterMs: 0 })
  })
})

function spanOf({ parameters }: Rule): number {
  return (parameters.windowMs ?? parameters.leaseMs) as number
}
