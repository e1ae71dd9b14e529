import type { LimitResult } from '../../core/decision.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import { createOperation, type Operation, type OperationParts, type OperationType } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store, StoreCall } from '../../core/store.ts'
import { classifyFailure } from './circuit-breaker.ts'
import { type PendingWrite, ReplayLog } from './replay-log.ts'

/** A store in this process: it has every answer at once. */
export interface LocalStore extends Store {
  decide(call: StoreCall): readonly LimitResult[]
}

/** Writes something to the store. */
export type Write = (operation: Operation, write: PendingWrite) => Promise<unknown>

/** A limit without its store: what it counts in this process meanwhile, and what it will have to write. */
export class FallbackLimit {
  /** The limit in memory. */
  readonly limit: Limit
  readonly log: ReplayLog = new ReplayLog()
  readonly #memory: LocalStore
  readonly #stored: Limit
  readonly #instances: () => number
  /** What is being written to the store, by key. */
  readonly #writing = new Map<string, Promise<void>>()
  #shares = new WeakMap<Rule, Rule>()
  #sharedAmong = 1

  constructor(memory: LocalStore, stored: Limit, instances: () => number) {
    const { limiter, name: tier, rule, shadow } = stored
    this.limit = createLimit({ limiter, tier, rule, shadow, rulesVary: true })
    this.#memory = memory
    this.#stored = stored
    this.#instances = instances
    memory.register(this.limit)
  }

  /** What this instance may let pass of a rule. */
  share(rule: Rule): Rule {
    const instances = this.#instances()
    if (instances === 1 || rule.share === undefined) return rule
    if (instances !== this.#sharedAmong) this.#shares = new WeakMap()
    this.#sharedAmong = instances
    const share = this.#shares.get(rule) ?? rule.share(instances)
    this.#shares.set(rule, share)
    return share
  }

  /** Takes from a key here although its store should count it, and owes it. */
  charge({ key, rule, amount }: Operation, nowMs: number): void {
    this.#decide(key, 'charge', { rule: this.share(rule), amount }, nowMs)
    this.log.spend(key, rule, amount)
  }

  /**
   * Writes to the store what a key owes, and rejects with the first failure. What may not have arrived is owed as before: to write it again
   * does no harm.
   *
   * @param nowMs the time of the decision.
   * @param timerMs the time that blocks go by.
   */
  replay(key: string, nowMs: number, timerMs: number, write: Write): Promise<void> | undefined {
    const writing = this.#writing.get(key)
    if (writing !== undefined || !this.log.has(key)) return writing
    const counted = (spent: number, rule: Rule): number => this.#stillCounted(key, rule, spent, nowMs)
    const { rule, writes } = this.log.take(key, timerMs, counted)
    if (writes.length === 0) return undefined
    const written = writes.map(async (pending) => {
      try {
        const subject = { limit: this.#stored, subject: key, key }
        await write(createOperation(subject, pending.type, { ...pending.parts, rule }), pending)
      } catch (error) {
        // What the store denies it would deny again.
        if (classifyFailure(error) !== 'down') return
        this.log.putBack(key, rule, pending, timerMs)
        throw error
      }
    })
    const done = Promise.allSettled(written).then((outcomes) => {
      this.#writing.delete(key)
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    })
    this.#writing.set(key, done)
    return done
  }

  /** The keys that have something to write, or are just writing it. */
  listPending(): readonly string[] {
    return [...new Set([...this.log.keys(), ...this.#writing.keys()])]
  }

  /** Whether keys may have something to write, or are just writing it. */
  get hasPending(): boolean {
    return this.log.size > 0 || this.#writing.size > 0
  }

  // What has come back here meanwhile has come back there too. Of a key at its limit it is not known how much that is.
  #stillCounted(key: string, rule: Rule, spent: number, nowMs: number): number {
    const share = this.share(rule)
    const { remaining } = this.#decide(key, 'peek', { rule: share }, nowMs)
    return remaining === 0 ? spent : Math.min(spent, share.limit - remaining)
  }

  #decide(key: string, type: OperationType, parts: OperationParts, nowMs: number): LimitResult {
    const operations = [createOperation({ limit: this.limit, subject: key, key }, type, parts)]
    const call = { operations, nowMs, idempotency: undefined, timeoutMs: 0 }
    return this.#memory.decide(call)[0] as LimitResult
  }
}
