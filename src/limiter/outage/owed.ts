import { randomInt } from 'node:crypto'
import { encodeSubject } from '../../core/key.ts'
import type { Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'

/** How many keys of one limit may owe something to the store. What comes beyond is not said later. */
const MOST_KEYS = 10_000
/** How many holds of one key may wait to be settled, as many as a key can have. */
const MOST_HOLDS = 1_000

/** How long a store remembers that it has charged something: so long may it be said again. */
export const CHARGE_MS = 600_000

/** Something to say to the store. */
export interface Saying {
  readonly request: Request
  /** Names a charge, so that it counts once however often it is said until some time, by the limiter's own. */
  readonly once?: { readonly id: string; readonly untilMs: number }
}

/** What a key has been through while its store was not there. */
interface Debt {
  rule: Rule
  spent: number
  /** Charges that were said, but not confirmed. */
  readonly charges: Saying[]
  isReset: boolean
  /** Until when it is blocked, by the limiter's own time; 0: not at all. */
  blockedUntilMs: number
  /** Whether that ends a longer block in the store. */
  replacesBlock: boolean
  /** What was used of holds that the store has. */
  readonly settled: Map<number, number>
}

/** What the keys of one limit still have to say to a store that was not there. */
export class Owed {
  readonly #debts = new Map<string, Debt>()

  get size(): number {
    return this.#debts.size
  }

  has(key: string): boolean {
    return this.#debts.has(key)
  }

  keys(): readonly string[] {
    return [...this.#debts.keys()]
  }

  /**
   * Something was taken here, to be charged there. Places come back by themselves, and are not.
   *
   * @param counted all that counts here now: what was taken before may have come back.
   */
  spend(key: string, rule: Rule, amount: number, counted: number = Number.MAX_SAFE_INTEGER): void {
    if (amount === 0 || rule.holds === 'leased') return
    const debt = this.#of(key, rule)
    if (debt !== undefined) debt.spent = Math.min(debt.spent + amount, counted)
  }

  /** Something of what was taken here went back. */
  giveBack(key: string, amount: number): void {
    const debt = this.#debts.get(key)
    if (debt !== undefined) debt.spent = Math.max(0, debt.spent - amount)
  }

  /** A hold that the store has was ended. */
  settle(key: string, rule: Rule, id: number, used: number): void {
    const debt = this.#of(key, rule)
    if (debt !== undefined && debt.settled.size < MOST_HOLDS) debt.settled.set(id, used)
  }

  /** @param replaces whether an earlier block that ends later ends then too. */
  block(key: string, rule: Rule, untilMs: number, replaces = false): void {
    const debt = this.#of(key, rule)
    if (debt === undefined) return
    debt.blockedUntilMs = replaces ? untilMs : Math.max(debt.blockedUntilMs, untilMs)
    debt.replacesBlock ||= replaces
  }

  unblock(key: string, rule: Rule): void {
    this.block(key, rule, 0, true)
  }

  /** Whatever was before is forgotten, here and there. */
  reset(key: string, rule: Rule): void {
    this.#debts.delete(key)
    const debt = this.#of(key, rule)
    if (debt !== undefined) debt.isReset = true
  }

  /** Takes out what a key has to say, in order. `counted` tells how much of what was spent still counts. */
  take(
    key: string,
    nowMs: number,
    counted: (spent: number, rule: Rule) => number,
  ): { readonly rule: Rule; readonly sayings: readonly Saying[] } {
    const { rule, spent, charges, isReset, blockedUntilMs, replacesBlock, settled } = this.#debts.get(key) as Debt
    this.#debts.delete(key)
    const sayings: Saying[] = isReset ? [{ request: { action: 'reset' } }] : []
    for (const [id, amount] of settled) sayings.push({ request: { action: 'settle', id, amount } })
    for (const charge of charges) if (Number(charge.once?.untilMs) > nowMs) sayings.push(charge)
    const amount = spent === 0 ? 0 : counted(spent, rule)
    if (amount > 0) {
      const once = { id: newId(), untilMs: nowMs + CHARGE_MS }
      sayings.push({ request: { action: 'charge', amount }, once })
    }
    if (blockedUntilMs > nowMs) {
      sayings.push({ request: { action: 'block', amount: blockedUntilMs - nowMs, replace: replacesBlock } })
    } else if (replacesBlock) sayings.push({ request: { action: 'unblock' } })
    return { rule, sayings }
  }

  /** Puts back what may not have been heard. */
  putBack(key: string, rule: Rule, saying: Saying, nowMs: number): void {
    const { request } = saying
    const debt = this.#of(key, rule)
    if (debt === undefined) return
    if (request.action === 'charge') debt.charges.push(saying)
    else if (request.action === 'reset') debt.isReset = true
    else if (request.action === 'settle') this.settle(key, rule, request.id, request.amount)
    else if (!debt.replacesBlock) {
      // What came later counts on top of it.
      if (request.action === 'block') debt.blockedUntilMs = Math.max(debt.blockedUntilMs, nowMs + request.amount)
      debt.replacesBlock = request.action === 'unblock' || (request.action === 'block' && request.replace === true)
    }
  }

  #of(key: string, rule: Rule): Debt | undefined {
    const known = this.#debts.get(key)
    if (known !== undefined) {
      known.rule = rule
      return known
    }
    if (this.#debts.size >= MOST_KEYS) return undefined
    const debt: Debt = {
      rule,
      spent: 0,
      charges: [],
      isReset: false,
      blockedUntilMs: 0,
      replacesBlock: false,
      settled: new Map(),
    }
    this.#debts.set(key, debt)
    return debt
  }
}

function newId(): string {
  return encodeSubject({ kind: 'owed', name: randomInt(1, 2 ** 48 - 1).toString(36) })
}
