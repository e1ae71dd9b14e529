import type { Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'

/** How many keys of one limit may owe something to the store. What comes beyond is not said later. */
const MOST_KEYS = 10_000
/** How many holds of one key may wait to be settled, as many as a key can have. */
const MOST_HOLDS = 1_000

/** What a key has been through while its store was not there. */
interface Debt {
  rule: Rule
  spent: number
  isReset: boolean
  /** Until when it is blocked, by the limiter's own time; 0: unblocked. */
  blockedUntilMs: number | undefined
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

  /** Something was taken here, to be charged there. Places come back by themselves, and are not. */
  spend(key: string, rule: Rule, amount: number): void {
    if (amount === 0 || rule.holds === 'leased') return
    const debt = this.#of(key, rule)
    if (debt !== undefined) debt.spent = Math.min(debt.spent + amount, Number.MAX_SAFE_INTEGER)
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

  block(key: string, rule: Rule, untilMs: number): void {
    const debt = this.#of(key, rule)
    if (debt !== undefined) debt.blockedUntilMs = untilMs
  }

  unblock(key: string, rule: Rule): void {
    this.block(key, rule, 0)
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
  ): { readonly rule: Rule; readonly requests: readonly Request[] } {
    const { rule, spent, isReset, blockedUntilMs, settled } = this.#debts.get(key) as Debt
    this.#debts.delete(key)
    const requests: Request[] = isReset ? [{ action: 'reset' }] : []
    for (const [id, amount] of settled) requests.push({ action: 'settle', id, amount })
    const amount = spent === 0 ? 0 : counted(spent, rule)
    if (amount > 0) requests.push({ action: 'charge', amount })
    if (blockedUntilMs === 0) requests.push({ action: 'unblock' })
    else if (blockedUntilMs !== undefined && blockedUntilMs > nowMs) {
      requests.push({ action: 'block', amount: blockedUntilMs - nowMs })
    }
    return { rule, requests }
  }

  /** Puts back what could not be said and does no harm when it is said twice. */
  putBack(key: string, rule: Rule, request: Request, nowMs: number): void {
    if (request.action === 'settle') this.settle(key, rule, request.id, request.amount)
    else if (request.action === 'block') this.block(key, rule, nowMs + request.amount)
    else if (request.action === 'unblock') this.unblock(key, rule)
    else if (request.action === 'reset') {
      const debt = this.#of(key, rule)
      if (debt !== undefined) debt.isReset = true
    }
  }

  #of(key: string, rule: Rule): Debt | undefined {
    const known = this.#debts.get(key)
    if (known !== undefined) {
      known.rule = rule
      return known
    }
    if (this.#debts.size >= MOST_KEYS) return undefined
    const debt: Debt = { rule, spent: 0, isReset: false, blockedUntilMs: undefined, settled: new Map() }
    this.#debts.set(key, debt)
    return debt
  }
}
