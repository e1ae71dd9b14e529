import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRule } from '../scripts/lua/read-rule.mjs'
import type { Rule, RuleState, StepResult } from '../src/core/rule.ts'
import { runs } from './effort.ts'
import { everyMode, GOOD, randomRules, ruleOf } from './rule-registry.ts'
import { starts, steps, type Wait, waits } from './schedules.ts'
import type { Address } from './servers/ask.ts'
import { useServer } from './servers/shared-servers.ts'
import { type Call, type LuaResult, rowOf, stepInLua, stepInTypeScript } from './step-in-lua.ts'

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

const described = everyMode.map((mode) => [mode.title, ruleOf(mode, GOOD), mode] as const)
const byHand = described.filter(([, , { givesBack }]) => givesBack.length > 0)

describe.each(byHand)('%s refunds', (_, rule, { givesBack }) => {
  it.each(givesBack)('%s', async (_, takes, [nowMs, amount, takenMs], [returned, remaining, resetAfterMs]) => {
    let state: RuleState | undefined
    for (const [atMs, cost] of Object.entries(takes)) state = rule.adjust(state, Number(atMs), cost).state
    const call = { rule, state, nowMs, cost: -amount, force: true, takenMs }
    const outcome = stepInTypeScript(call)
    expect(outcome).toMatchObject({ retryAfterMs: 0, returned, remaining, resetAfterMs })
    expect(await stepInLua(redis, call)).toEqual(rowOf(rule, outcome))
  })
})

/** How a refund finds what it returns, by the words of the Lua headers. */
const REFUNDS = { pooled: 'pool', dated: 'by-time', leased: 'lease' } as const

it.each(described)('%s says in both languages how a refund finds what it returns', (_, rule) => {
  expect(REFUNDS[readRule(rule.kind).holds]).toBe(rule.refunds)
})

/** A take or a refund, which names the time of the take as many takes ago, a millisecond beside it, or none. */
interface Turn {
  readonly wait: Wait
  readonly amount: number
  readonly action: 'take' | 'charge' | 'give back'
  readonly ago: number
  readonly besideMs: number | undefined
}

const turnsWith = (wait: fc.Arbitrary<Wait>): fc.Arbitrary<Turn[]> =>
  fc.array(
    fc.record({
      wait,
      amount: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })),
      action: fc.constantFrom('take', 'take', 'charge', 'give back', 'give back'),
      ago: fc.oneof(fc.constant(0), fc.nat(4)),
      besideMs: fc.constantFrom(0, 0, 0, 0, 1, -1, undefined),
    }),
    { minLength: 2, maxLength: 30, size: 'max' },
  )

const numbers = {
  limit: fc.integer({ min: 1, max: 20 }),
  timeMs: fc.constantFrom(1, 7, 250, 999, 1_000),
  rate: fc.constantFrom(1, 3, 7, 100),
  parts: fc.constantFrom(1, 3, 7),
  maxDebt: fc.nat(30),
}
const arbitraries = described.map(([title, { refunds }, mode]) => [title, randomRules(mode, numbers), refunds] as const)

describe.each(arbitraries)('%s on random schedules', (_, arbitrary) => {
  it('refunds the same in both languages, and says how much, whatever the clock does', async () => {
    await fc.assert(
      fc.asyncProperty(arbitrary, turnsWith(fc.oneof(waits, steps)), starts, async (rule, turns, startMs) => {
        const moments = play(rule, turns, startMs)
        const rows = moments.map(({ outcome }) => rowOf(rule, outcome))
        for (const moment of moments) expectHonest(moment)
        // Once more, after everything: no step has changed a state that another one uses.
        for (const [index, moment] of moments.entries())
          expect(rowOf(rule, stepInTypeScript(moment))).toEqual(rows[index])
        expect(await Promise.all(moments.map((moment) => stepInLua(redis, moment)))).toEqual(rows)
      }),
      { numRuns: runs('twin') },
    )
  })
})

describe.each(arbitraries.filter(([, , refunds]) => refunds !== 'pool'))('%s on random schedules', (_, arbitrary) => {
  it('never refunds more than was taken at the time', () => {
    fc.assert(
      fc.property(arbitrary, turnsWith(waits), starts, (rule, turns, startMs) => {
        // What is taken belongs to the window, the slice or the millisecond that its state is of.
        const dates = new Map<number, number>()
        const taken = new Map<number, number>()
        for (const { state, nowMs, cost, force, takenMs, outcome } of play(rule, turns, startMs)) {
          if (cost > 0 && (force || outcome.retryAfterMs === 0)) {
            const added = countOf(outcome.state) - countOf(rule.step(state, nowMs, 0).state)
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

type Moment = Call & { readonly outcome: LuaResult }

function play(rule: Rule, turns: readonly Turn[], startMs: number): Moment[] {
  const moments: Moment[] = []
  const takenAt: number[] = []
  let nowMs = startMs
  let state: RuleState | undefined
  let last: StepResult | undefined
  for (const { wait, amount, action, ago, besideMs } of turns) {
    nowMs = Math.max(0, nowMs + waitMs(wait, last, periodOf(rule)))
    const takenMs = besideMs === undefined ? undefined : (takenAt.at(-1 - ago) ?? nowMs) + besideMs
    // What is more than the limit is refused by the frame, and never comes to a step.
    const most = action === 'take' ? rule.limit : amount
    const cost = action === 'give back' ? -amount : Math.min(amount, most)
    const call = { rule, state, nowMs, cost, force: action !== 'take', takenMs }
    const outcome = stepInTypeScript(call)
    moments.push({ ...call, outcome })
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

function waitMs(wait: Wait, last: StepResult | undefined, periodMs: number): number {
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

function expectHonest({ outcome, ...call }: Moment): void {
  const { rule, state, nowMs, cost } = call
  const { returned, remaining } = outcome
  if (cost > 0 || rule.refunds === 'pool')
    expect(rowOf(rule, stepInTypeScript({ ...call, takenMs: undefined }))).toEqual(rowOf(rule, outcome))
  expect(returned >= 0 && returned <= Math.max(0, -cost)).toBe(true)
  if (rule.refunds !== 'pool') expect(Number.isSafeInteger(returned)).toBe(true)
  if (cost > 0) return
  const before = rule.step(state, nowMs, 0)
  const more = remaining - before.remaining
  if (rule.refunds === 'pool') {
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
