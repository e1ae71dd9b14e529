import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRule } from '../scripts/lua/assemble.mjs'
import type { Outcome, Rule, RuleState } from '../src/core/rule.ts'
import * as rules from '../src/rules/index.ts'
import { runs } from './effort.ts'
import { starts, steps, type Wait, waits } from './schedules.ts'
import type { Address } from './servers/ask.ts'
import { useServer } from './servers/shared-servers.ts'
import { type Call, rowOf, stepInLua } from './step-in-lua.ts'

// The step itself, in TypeScript and in Lua, without the frame around it.

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})

/** What was taken, by its time. Forced, so that it may go into debt. */
type Takes = Readonly<Record<number, number>>
type GiveBack = readonly [nowMs: number, amount: number, takenMs?: number]
type Says = readonly [returned: number, remaining: number, resetAfterMs: number]
type Example = readonly [title: string, Takes, GiveBack, Says]

const clock = rules.fixedWindow({ limit: 10, windowMs: 1_000 })
const firstHit = rules.fixedWindow({ limit: 10, windowMs: 1_000, anchor: 'first-hit' })
const sliding = rules.slidingWindow({ limit: 10, windowMs: 1_000 })
const strict = rules.strictWindow({ limit: 10, windowMs: 1_000, slices: 10 })
const log = rules.slidingLog({ limit: 10, windowMs: 1_000 })
const places = rules.concurrency({ limit: 10, leaseMs: 1_000 })
const tokens = rules.tokenBucket({ capacity: 10, refill: 10, periodMs: 1_000 })
const leaky = rules.leakyBucket({ capacity: 10, leak: 10, periodMs: 1_000 })

const examples: readonly (readonly [rule: Rule, ...Example[]])[] = [
  [
    clock,
    ['what the window still has', { 10100: 4 }, [10_900, 3, 10_100], [3, 9, 100]],
    ['no more than the window has, and it stays open', { 10100: 4 }, [10_500, 9, 10_100], [4, 10, 500]],
    ['nothing of the window before', { 10999: 4, 11000: 5 }, [11_000, 4, 10_999], [0, 5, 1_000]],
    ['what was taken as the window opened', { 10999: 4, 11000: 5 }, [11_000, 4, 11_000], [4, 9, 1_000]],
    ['nothing when no window is open', { 10100: 4 }, [11_000, 4, 10_100], [0, 10, 0]],
    ['what a clock that is back since then has taken', { 10500: 4 }, [10_400, 4, 10_700], [4, 10, 600]],
    ['the newest without a time', { 10100: 4 }, [10_500, 3], [3, 9, 500]],
    ['nothing of nothing', {}, [10_500, 3, 10_100], [0, 10, 0]],
  ],
  [
    firstHit,
    ['what was taken a window ago but for a millisecond', { 10400: 4, 11300: 2 }, [11_399, 4, 10_400], [4, 8, 1]],
    ['nothing once the window is over', { 10400: 4, 11300: 2 }, [11_400, 4, 10_400], [0, 10, 0]],
    ['nothing of the window before', { 10400: 4, 11500: 3 }, [11_600, 4, 10_400], [0, 7, 900]],
  ],
  [
    sliding,
    ['of the current window only', { 10100: 6, 11200: 2 }, [11_500, 5, 11_200], [2, 8, 500]],
    ['of the window before only', { 10100: 6, 11200: 2 }, [11_500, 5, 10_100], [5, 8, 1_500]],
    ['no more than the window before has', { 10100: 6, 11200: 2 }, [11_500, 9, 10_100], [6, 8, 1_500]],
    ['what was taken as the window before opened', { 10000: 6, 11200: 2 }, [11_500, 1, 10_000], [1, 6, 1_500]],
    ['nothing older', { 10100: 6, 11200: 2 }, [11_500, 6, 9_999], [0, 6, 1_500]],
    ['what was current a millisecond ago', { 10999: 6 }, [11_000, 6, 10_999], [6, 10, 0]],
    ['what was taken as the current window opened', { 10999: 6, 11000: 2 }, [11_000, 9, 11_000], [2, 5, 1_000]],
    ['nothing two windows later', { 10999: 6 }, [12_000, 6, 10_999], [0, 10, 0]],
    ['the current window first without a time', { 10100: 6, 11200: 2 }, [11_500, 5], [5, 9, 500]],
  ],
  [
    strict,
    ['of the named slice only', { 10050: 3, 10150: 4 }, [10_950, 9, 10_050], [3, 6, 250]],
    ['a part of the slice', { 10050: 3, 10150: 4 }, [10_950, 2, 10_150], [2, 5, 250]],
    ['what others took in the same slice', { 10010: 3, 10090: 2 }, [10_100, 4, 10_010], [4, 9, 1_000]],
    ['nothing of a slice without requests', { 10050: 3, 10250: 4 }, [10_300, 3, 10_199], [0, 3, 1_000]],
    ['nothing of a slice before 1970', { 10: 3 }, [50, 3, -1], [0, 7, 1_050]],
    ['what leaves in a millisecond', { 10000: 3 }, [11_099, 3, 10_000], [3, 10, 0]],
    ['nothing of a slice that has left', { 10099: 3, 10100: 4 }, [11_100, 3, 10_099], [0, 6, 100]],
    ['of the newest what was taken later', { 10050: 3, 10150: 4 }, [10_199, 5, 10_350], [4, 7, 901]],
    ['the newest first without a time', { 10050: 3, 10150: 4 }, [10_950, 5], [5, 8, 150]],
  ],
  [
    log,
    ['all that was taken at the time', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 4, 10_001], [4, 5, 505]],
    ['a part of it', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 1, 10_001], [1, 2, 505]],
    ['no more than the newest has', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 9, 10_005], [2, 3, 501]],
    ['no more than the oldest has', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 9, 10_000], [3, 4, 505]],
    ['nothing of another time', { 10000: 3, 10001: 4, 10005: 2 }, [10_500, 9, 10_002], [0, 1, 505]],
    ['what leaves in a millisecond', { 10000: 3, 10005: 4 }, [10_999, 3, 10_000], [3, 6, 6]],
    ['nothing of what has left', { 10000: 3, 10005: 4 }, [11_000, 3, 10_000], [0, 6, 5]],
    ['the last, and is untouched then', { 10000: 3 }, [10_500, 3, 10_000], [3, 10, 0]],
    ['nothing of nothing', {}, [10_500, 3, 10_000], [0, 10, 0]],
    ['the newest first without a time', { 10000: 3, 10005: 4 }, [10_500, 5], [5, 8, 500]],
  ],
  [
    places,
    ['the named place', { 10000: 1, 10500: 1 }, [10_600, 1, 10_500], [1, 9, 400]],
    ['a part of the named places', { 10000: 3, 10500: 4 }, [10_600, 2, 10_500], [2, 5, 900]],
    ['nothing when the lease is over', { 10000: 1, 10500: 1 }, [11_000, 1, 10_000], [0, 9, 500]],
    ['the oldest first without a time', { 10000: 1, 10500: 1 }, [10_600, 1], [1, 9, 900]],
  ],
  [
    tokens,
    ['all of it while there is room', { 10000: 4 }, [10_050, 2, 10_000], [2, 8, 150]],
    ['what has not been refilled: three and a half', { 10000: 4 }, [10_050, 4, 10_000], [3.5, 10, 0]],
    ['the same at any time', { 10000: 4 }, [10_050, 4, 1], [3.5, 10, 0]],
    ['the same without a time', { 10000: 4 }, [10_050, 4], [3.5, 10, 0]],
    ['a part when it is full but for that', { 10000: 1 }, [10_001, 1, 10_000], [0.99, 10, 0]],
    ['more than it can hold out of debt', { 10000: 15 }, [10_000, 12, 10_000], [12, 7, 300]],
    ['debt and capacity and no more', { 10000: 15 }, [10_000, 20, 10_000], [15, 10, 0]],
  ],
  [
    leaky,
    ['all of it while there is as much', { 10000: 4 }, [10_050, 2, 10_000], [2, 8, 150]],
    ['what has not leaked out: three and a half', { 10000: 4 }, [10_050, 4, 10_000], [3.5, 10, 0]],
    ['a part when it is empty but for that', { 10000: 1 }, [10_001, 1, 10_000], [0.99, 10, 0]],
    ['debt and capacity and no more', { 10000: 15 }, [10_000, 20, 10_000], [15, 10, 0]],
  ],
]

const titled = examples.map(([rule, ...rows]) => [`${rule.kind} ${rule.parameters.anchor ?? ''}`, rule, rows] as const)

describe.each(titled)('%s gives back', (_, rule, rows) => {
  it.each(rows)('%s', async (_, takes, [nowMs, amount, takenMs], [returned, remaining, resetAfterMs]) => {
    let state: RuleState | undefined
    for (const [atMs, cost] of Object.entries(takes)) state = rule.step(state, Number(atMs), cost, true).state
    const outcome = rule.step(state, nowMs, -amount, true, takenMs)
    expect(outcome).toMatchObject({ retryAfterMs: 0, returned, remaining, resetAfterMs })
    const inLua = await stepInLua(redis, { rule, state, nowMs, cost: -amount, force: true, takenMs })
    expect(inLua).toEqual(rowOf(rule, outcome))
  })
})

it.each([clock, sliding, strict, log, places, tokens, leaky])('$kind says in both languages how it holds', (rule) => {
  expect(readRule(rule.kind).holds).toBe(rule.holds)
})

/** A take or a give-back, which names the time of the take as many takes ago, a millisecond beside it, or none. */
interface Turn {
  readonly wait: Wait
  readonly amount: number
  readonly action: 'take' | 'charge' | 'give back' | 'give back if it passes'
  readonly ago: number
  readonly besideMs: number | undefined
}

const turnsWith = (wait: fc.Arbitrary<Wait>): fc.Arbitrary<Turn[]> =>
  fc.array(
    fc.record({
      wait,
      amount: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })),
      action: fc.constantFrom('take', 'take', 'charge', 'give back', 'give back', 'give back if it passes'),
      ago: fc.oneof(fc.constant(0), fc.nat(4)),
      besideMs: fc.constantFrom(0, 0, 0, 0, 1, -1, undefined),
    }),
    { minLength: 2, maxLength: 30, size: 'max' },
  )

const small = fc.integer({ min: 1, max: 20 })
const lengthsMs = fc.constantFrom(1, 7, 250, 999, 1_000)
const perPeriod = fc.constantFrom(1, 3, 7, 100)
const maxDebt = fc.nat(30)
const modes = fc.constantFrom('police', 'shape')

const arbitraries: readonly (readonly [kind: string, fc.Arbitrary<Rule>])[] = [
  [
    'fixed-window',
    fc
      .record({ limit: small, windowMs: lengthsMs, anchor: fc.constantFrom('clock', 'first-hit'), maxDebt })
      .map(rules.fixedWindow),
  ],
  ['sliding-window', fc.record({ limit: small, windowMs: lengthsMs, maxDebt }).map(rules.slidingWindow)],
  [
    'strict-window',
    fc
      .record({ limit: small, windowMs: fc.constantFrom(7, 250, 999), slices: fc.constantFrom(1, 3, 7), maxDebt })
      .map(rules.strictWindow),
  ],
  ['sliding-log', fc.record({ limit: small, windowMs: lengthsMs, maxDebt }).map(rules.slidingLog)],
  ['concurrency', fc.record({ limit: small, leaseMs: lengthsMs, maxDebt }).map(rules.concurrency)],
  [
    'token-bucket',
    fc.record({ capacity: small, refill: perPeriod, periodMs: lengthsMs, maxDebt }).map(rules.tokenBucket),
  ],
  [
    'leaky-bucket',
    fc.record({ capacity: small, leak: perPeriod, periodMs: lengthsMs, mode: modes, maxDebt }).map(rules.leakyBucket),
  ],
]

describe.each(arbitraries)('%s on random schedules', (_, arbitrary) => {
  it('gives back the same in both languages, and says how much, whatever the clock does', async () => {
    await fc.assert(
      fc.asyncProperty(arbitrary, turnsWith(fc.oneof(waits, steps)), starts, async (rule, turns, startMs) => {
        const moments = play(rule, turns, startMs)
        const rows = moments.map(({ outcome }) => rowOf(rule, outcome))
        for (const moment of moments) expectHonest(moment)
        // Once more, after everything: no step has changed a state that another one uses.
        for (const [index, { state, nowMs, cost, force, takenMs }] of moments.entries())
          expect(rowOf(rule, rule.step(state, nowMs, cost, force, takenMs))).toEqual(rows[index])
        expect(await Promise.all(moments.map((moment) => stepInLua(redis, moment)))).toEqual(rows)
      }),
      { numRuns: runs('twin') },
    )
  })
})

describe.each(arbitraries.filter(([kind]) => !kind.endsWith('-bucket')))('%s on random schedules', (_, arbitrary) => {
  it('never gives back more than was taken at the time', () => {
    fc.assert(
      fc.property(arbitrary, turnsWith(waits), starts, (rule, turns, startMs) => {
        // What is taken belongs to the window, the slice or the millisecond that its state is of.
        const dates = new Map<number, number>()
        const taken = new Map<number, number>()
        for (const { state, nowMs, cost, force, takenMs, outcome } of play(rule, turns, startMs)) {
          if (cost > 0 && (force || outcome.retryAfterMs === 0)) {
            const added = countOf(outcome.state) - countOf(rule.step(state, nowMs, 0, true).state)
            if (added === 0) continue
            const dateMs = outcome.state.atMs
            dates.set(nowMs, dateMs)
            taken.set(dateMs, (taken.get(dateMs) ?? 0) + added)
          } else if (cost < 0) {
            const dateMs = dates.get(takenMs as number)
            if (dateMs === undefined) continue
            const left = (taken.get(dateMs) as number) - outcome.returned
            expect(left).toBeGreaterThanOrEqual(0)
            taken.set(dateMs, left)
          }
        }
      }),
      { numRuns: runs('twin') },
    )
  })
})

type Moment = Call & { readonly outcome: Outcome }

function play(rule: Rule, turns: readonly Turn[], startMs: number): Moment[] {
  const moments: Moment[] = []
  const takenAt: number[] = []
  let nowMs = startMs
  let state: RuleState | undefined
  let last: Outcome | undefined
  for (const { wait, amount, action, ago, besideMs } of turns) {
    nowMs = Math.max(0, nowMs + waitMs(wait, last, periodOf(rule)))
    const takenMs = besideMs === undefined ? undefined : (takenAt.at(-1 - ago) ?? nowMs) + besideMs
    // What is more than the limit is refused by the frame, and never comes to a step.
    const most = action === 'take' ? rule.limit : amount
    const cost = action.startsWith('give back') ? -amount : Math.min(amount, most)
    const force = action === 'charge' || action === 'give back'
    const outcome = rule.step(state, nowMs, cost, force, takenMs)
    moments.push({ rule, state, nowMs, cost, force, takenMs, outcome })
    last = outcome
    if (outcome.retryAfterMs > 0) continue
    if (cost > 0) takenAt.push(nowMs)
    state = outcome.resetAfterMs === 0 ? undefined : outcome.state
  }
  return moments
}

function periodOf({ parameters: { windowMs, leaseMs, periodMs, slices = 1 } }: Rule): number {
  return Math.ceil(Number(windowMs ?? leaseMs ?? periodMs) / Number(slices))
}

function waitMs(wait: Wait, last: Outcome | undefined, periodMs: number): number {
  if (typeof wait === 'number') return wait
  const [word = '', sign] = wait.split(' ')
  const known: Readonly<Record<string, number>> = {
    one: 1,
    retry: last?.retryAfterMs ?? 0,
    reset: last?.resetAfterMs ?? 0,
    period: periodMs,
  }
  return Math.max(0, (known[word] ?? 0) + (sign === '-' ? -1 : sign === '+' ? 1 : 0))
}

function expectHonest({ rule, state, nowMs, cost, force, outcome }: Moment): void {
  const { returned, remaining } = outcome
  if (cost > 0 || rule.holds === 'pooled')
    expect(rowOf(rule, rule.step(state, nowMs, cost, force))).toEqual(rowOf(rule, outcome))
  expect(returned >= 0 && returned <= Math.max(0, -cost)).toBe(true)
  if (rule.holds !== 'pooled') expect(Number.isSafeInteger(returned)).toBe(true)
  if (cost > 0) return
  const before = rule.step(state, nowMs, 0, true)
  const more = remaining - before.remaining
  if (rule.holds === 'pooled') {
    // A bucket that gets full also gets the part of a unit that was missing: it may complete one.
    expect(more).toBeLessThanOrEqual(outcome.resetAfterMs === 0 ? returned + 1 : returned)
  } else {
    expect(more).toBeLessThanOrEqual(returned)
    expect(countOf(before.state) - countOf(outcome.state)).toBe(returned)
  }
}

/** All that a rule other than a bucket counts. */
function countOf(state: RuleState): number {
  if ('total' in state) return Number(state.total)
  const { atMs: _, ...counts } = state
  return Object.values(counts)
    .flat()
    .reduce((sum: number, count) => sum + Number(count), 0)
}
