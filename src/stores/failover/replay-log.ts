import { randomInt } from 'node:crypto'
import { encodeSubject } from '../../core/key.ts'
import type { OperationParts, OperationType } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Idempotency } from '../../core/store.ts'

/** How many keys of one limit may owe something to the store. What comes beyond is not written later. */
const MOST_KEYS = 10_000
/** How many holds of one key may wait to be settled, as many as a key can have. */
const MOST_HOLDS = 1_000

/** How long a store remembers that it has charged something, and for how long it may be written again. */
const CHARGE_MS = 600_000

/** Something to write to the store. */
export interface PendingWrite {
  readonly type: OperationType
  readonly parts: OperationParts
  /** Names a charge, so that it counts once however often it is written until some time, by the limiter's own. */
  readonly once?: { readonly idempotency: Idempotency; readonly untilMs: number }
}

/** What a key has been through while its store was not there. */
interface KeyLog {
  rule: Rule
  spent: number
  /** Charges that were written, but not confirmed. */
  readonly charges: PendingWrite[]
  isReset: boolean
  /** Until when it is blocked, by the limiter's own time; 0: not at all. */
  blockedUntilMs: number
  /** Whether that ends a longer block in the store. */
  replacesBlock: boolean
  /** What was used of holds that the store has. */
  readonly settled: Map<number, number>
}

/** What the keys of one limit still have to write to a store that was not there. */
export class ReplayLog {
  readonly #logs = new Map<string, KeyLog>()

  get size(): number {
    return this.#logs.size
  }

  has(key: string): boolean {
    return this.#logs.has(key)
  }

  keys(): readonly string[] {
    return [...this.#logs.keys()]
  }

  /**
   * Something was taken here, to be charged there. Permits come back with their lease, and are not charged.
   *
   * @param counted all that counts here now: what was taken before may have come back.
   */
  spend(key: string, rule: Rule, amount: number, counted: number = Number.MAX_SAFE_INTEGER): void {
    if (amount === 0 || rule.refunds === 'lease') return
    const log = this.#open(key, rule)
    if (log !== undefined) log.spent = Math.min(log.spent + amount, counted)
  }

  /** Something of what was taken here went back. */
  refund(key: string, amount: number): void {
    const log = this.#logs.get(key)
    if (log !== undefined) log.spent = Math.max(0, log.spent - amount)
  }

  /** A hold that the store has was ended. */
  settle(key: string, rule: Rule, id: number, used: number): void {
    const log = this.#open(key, rule)
    if (log !== undefined && log.settled.size < MOST_HOLDS) log.settled.set(id, used)
  }

  /** @param replaces whether an earlier block that ends later ends then too. */
  block(key: string, rule: Rule, untilMs: number, replaces = false): void {
    const log = this.#open(key, rule)
    if (log === undefined) return
    log.blockedUntilMs = replaces ? untilMs : Math.max(log.blockedUntilMs, untilMs)
    log.replacesBlock ||= replaces
  }

  unblock(key: string, rule: Rule): void {
    this.block(key, rule, 0, true)
  }

  /** Whatever was before is forgotten, here and there. */
  reset(key: string, rule: Rule): void {
    this.#logs.delete(key)
    const log = this.#open(key, rule)
    if (log !== undefined) log.isReset = true
  }

  /** Takes out what a key has to write, in order. `counted` says how much of what was spent still counts. */
  take(
    key: string,
    nowMs: number,
    counted: (spent: number, rule: Rule) => number,
  ): { readonly rule: Rule; readonly writes: readonly PendingWrite[] } {
    const { rule, spent, charges, isReset, blockedUntilMs, replacesBlock, settled } = this.#logs.get(key) as KeyLog
    this.#logs.delete(key)
    const writes: PendingWrite[] = isReset ? [{ type: 'reset', parts: {} }] : []
    for (const [holdId, amount] of settled) writes.push({ type: 'settle', parts: { holdId, amount } })
    for (const charge of charges) if (Number(charge.once?.untilMs) > nowMs) writes.push(charge)
    const amount = spent === 0 ? 0 : counted(spent, rule)
    if (amount > 0) {
      const idempotency = { key: createKey(), ttlMs: CHARGE_MS }
      writes.push({ type: 'charge', parts: { amount }, once: { idempotency, untilMs: nowMs + CHARGE_MS } })
    }
    if (blockedUntilMs > nowMs) {
      writes.push({ type: 'block', parts: { amount: blockedUntilMs - nowMs, replaces: replacesBlock } })
    } else if (replacesBlock) writes.push({ type: 'unblock', parts: {} })
    return { rule, writes }
  }

  /** Puts back what may not have arrived. */
  putBack(key: string, rule: Rule, write: PendingWrite, nowMs: number): void {
    const { type, parts } = write
    const log = this.#open(key, rule)
    if (log === undefined) return
    if (type === 'charge') log.charges.push(write)
    else if (type === 'reset') log.isReset = true
    else if (type === 'settle') this.settle(key, rule, parts.holdId as number, parts.amount as number)
    else if (!log.replacesBlock) {
      // What came later counts on top of it.
      if (type === 'block') log.blockedUntilMs = Math.max(log.blockedUntilMs, nowMs + (parts.amount as number))
      log.replacesBlock = type === 'unblock' || parts.replaces === true
    }
  }

  #open(key: string, rule: Rule): KeyLog | undefined {
    const known = this.#logs.get(key)
    if (known !== undefined) {
      known.rule = rule
      return known
    }
    if (this.#logs.size >= MOST_KEYS) return undefined
    const log: KeyLog = {
      rule,
      spent: 0,
      charges: [],
      isReset: false,
      blockedUntilMs: 0,
      replacesBlock: false,
      settled: new Map(),
    }
    this.#logs.set(key, log)
    return log
  }
}

function createKey(): string {
  return encodeSubject({ kind: 'owed', name: randomInt(1, 2 ** 48 - 1).toString(36) })
}
