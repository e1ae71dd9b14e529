import { STORE_TIME } from '../core/clock.ts'
import type { Decision, LimitResult } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import type { Idempotency, Reply, StoreCall } from '../core/store.ts'
import { composeDecision } from './compose-decision.ts'

/** A call that was checked, and the decision on it if its store makes that later. It makes a promise only when the caller has to wait. */
export class PendingDecision implements StoreCall, Reply {
  operations: readonly Operation[]
  /** Set when the call is decided, where the limiter has a clock. */
  nowMs: number = STORE_TIME
  readonly idempotency: Idempotency | undefined
  readonly timeoutMs: number
  readonly #decidedBy: string
  /** Whom to tell; or what came before there was a promise. */
  #waiting: Resolve | Outcome | undefined

  constructor(
    operations: readonly Operation[],
    idempotency: Idempotency | undefined,
    timeoutMs: number,
    decidedBy: string,
  ) {
    this.operations = operations
    this.idempotency = idempotency
    this.timeoutMs = timeoutMs
    this.#decidedBy = decidedBy
  }

  /** Gives each operation the rule of its subject, where there is one. */
  resolve(rules: readonly (Rule | undefined)[]): void {
    this.operations = this.operations.map((operation, index) => ({
      ...operation,
      rule: rules[index] ?? operation.rule,
    }))
  }

  done(results: readonly LimitResult[]): void {
    this.#settle(composeDecision(this.operations, results, this.#decidedBy))
  }

  failed(error: unknown): void {
    this.#settle(Promise.reject(error))
  }

  promise(): Promise<Decision> {
    return new Promise((resolve) => {
      if (this.#waiting === undefined) this.#waiting = resolve
      else resolve(this.#waiting as Outcome)
    })
  }

  #settle(outcome: Outcome): void {
    if (typeof this.#waiting === 'function') this.#waiting(outcome)
    else this.#waiting = outcome
  }
}

type Outcome = Decision | Promise<never>
type Resolve = (outcome: Outcome) => void
