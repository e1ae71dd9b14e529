import fc from 'fast-check'
import type { Granted, LimitResult } from '../src/core/decision.ts'
import type { Rule } from '../src/core/rule.ts'
import type { Action } from './open-limit.ts'
import { everyMode, GOOD, randomRules, ruleOf } from './rule-registry.ts'
import type { RuleMode } from './rule-samples.ts'

/** The modes of rules of which a process may get units ahead of time. */
export const lendingModes: readonly RuleMode[] = everyMode.filter((mode) => ruleOf(mode, GOOD).prefetches === true)

/** Random rules that lend, small enough that a few requests use them up. */
export const lendingRules = (mode: RuleMode): fc.Arbitrary<Rule> =>
  randomRules(mode, {
    limit: fc.integer({ min: 1, max: 60 }),
    timeMs: fc.constantFrom(250, 1_000, 1_001),
    rate: fc.constantFrom(7, 10, 50),
    parts: fc.constantFrom(1, 4, 10),
    maxDebt: fc.constantFrom(0, 5),
  })

/** No grant has it. */
const NO_ID = 2 ** 47

/** What happens on a key, in order. */
export interface LendingTurn {
  readonly does: 'grant' | 'renew' | 'settle' | 'consume' | 'reserve'
  readonly amount: number
  readonly want: number
  readonly soon: number
  readonly ms: number
  readonly soonMs: number
  /** Which of the live grants, counted from the last. */
  readonly which: number
  /** When its units are spent, as parts of the time that it lasts. */
  readonly plan: readonly number[]
  readonly wait: number | 'end' | 'end - 1'
}

const edges = (...known: number[]): fc.Arbitrary<number> => fc.constantFrom(...known)

/** Random turns that favour the ends of grants and windows. */
export const lendingTurns: fc.Arbitrary<LendingTurn[]> = fc.array(
  fc.record({
    does: fc.constantFrom('grant', 'grant', 'grant', 'renew', 'settle', 'consume', 'consume', 'reserve'),
    amount: fc.oneof(edges(1, 1, 1, 2), fc.integer({ min: 1, max: 20 })),
    want: fc.oneof(edges(8, 40), fc.integer({ min: 0, max: 120 })),
    soon: fc.nat(30),
    ms: edges(4, 30, 100, 250, 400),
    soonMs: edges(4, 10, 100),
    which: fc.nat(3),
    plan: fc.array(fc.oneof(edges(0, 1), fc.double({ min: 0, max: 1, noNaN: true })), { minLength: 1, maxLength: 4 }),
    wait: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom<LendingTurn['wait']>('end', 'end - 1', 0, 0, 1) },
      { weight: 2, arbitrary: edges(99, 100, 101, 249, 250, 251, 999, 1_000) },
      { weight: 2, arbitrary: fc.nat(150) },
    ),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

/** Units that were spent at a time. */
export interface Spent {
  readonly atMs: number
  readonly units: number
}

interface Lent {
  readonly id: number
  readonly endMs: number
  readonly spends: readonly Spent[]
}

/** A process, or several, that spend what they get on one key. Only ids tell their grants apart. */
export class Spenders {
  readonly spent: Spent[] = []
  #live: Lent[] = []
  #lastId = 0
  nowMs: number

  constructor(startMs: number) {
    this.nowMs = startMs
  }

  /** Waits, and says what to ask. */
  next({ does, amount, want, soon, ms, soonMs, which, wait }: LendingTurn): Action {
    const lent = this.#live.at(-1 - which)
    const endMs = (this.#live.at(-1)?.endMs ?? this.nowMs) - (wait === 'end - 1' ? 1 : 0)
    this.nowMs = typeof wait === 'number' ? this.nowMs + wait : Math.max(this.nowMs, endMs)
    if (does === 'consume') return { type: 'consume', amount }
    // Nothing of it is used, and it goes back when it expires.
    if (does === 'reserve') return { type: 'reserve', amount, holdId: ++this.#lastId, holdMs: ms }
    if (does === 'settle') return { type: 'settle', holdId: lent?.id ?? NO_ID, amount: this.#end(lent) }
    const endedId = does === 'renew' ? (lent?.id ?? 0) : 0
    const endedUsed = does === 'renew' ? this.#end(lent) : 0
    const grant = { want: amount + want, soon, soonMs: Math.min(soonMs, ms), endedId, endedUsed }
    return { type: 'grant', amount, holdId: ++this.#lastId, holdMs: ms, grant }
  }

  /** Notes what was answered. */
  answered({ plan }: LendingTurn, { type, amount = 0, holdId = 0 }: Action, { allowed, granted }: LimitResult): void {
    if ((type === 'grant' || type === 'consume') && allowed) this.spent.push({ atMs: this.nowMs, units: amount })
    if (granted !== undefined && granted.units > 0) this.#live.push(this.#lend(holdId, granted, plan))
  }

  /** What was spent, in the order of time. */
  all(): readonly Spent[] {
    for (const { spends } of this.#live) this.spent.push(...spends)
    this.#live = []
    return this.spent.sort((one, other) => one.atMs - other.atMs)
  }

  #lend(id: number, { units, lastsMs }: Granted, plan: readonly number[]): Lent {
    const share = Math.ceil(units / plan.length)
    const spends = plan.map((part, index) => ({
      atMs: this.nowMs + Math.floor(part * (lastsMs - 1)),
      units: Math.min(share, Math.max(0, units - index * share)),
    }))
    return { id, endMs: this.nowMs + lastsMs, spends }
  }

  /** Spends nothing more of a grant, and says how much was. */
  #end(lent: Lent | undefined): number {
    if (lent === undefined) return 0
    this.#live = this.#live.filter((other) => other !== lent)
    const done = lent.spends.filter(({ atMs }) => atMs <= this.nowMs)
    this.spent.push(...done)
    return done.reduce((sum, { units }) => sum + units, 0)
  }
}
