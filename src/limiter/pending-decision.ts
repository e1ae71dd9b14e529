import type { DecidedBy, Decision, LimitResult } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { Reply } from '../core/store.ts'
import { composeDecision } from './compose-decision.ts'

/** A decision that its store makes later. It makes a promise only when the caller has to wait. */
export class PendingDecision implements Reply {
  readonly #operations: readonly Operation[]
  readonly #decidedBy: DecidedBy
  #resolve: ((decision: Decision | Promise<never>) => void) | undefined
  /** What came before there was a promise. */
  #early: Decision | Promise<never> | undefined

  constructor(operations: readonly Operation[], decidedBy: DecidedBy) {
    this.#operations = operations
    this.#decidedBy = decidedBy
  }

  done(results: readonly LimitResult[]): void {
    this.#settle(composeDecision(this.#operations, results, this.#decidedBy))
  }

  failed(error: unknown): void {
    this.#settle(Promise.reject(error))
  }

  promise(): Promise<Decision> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      if (this.#early !== undefined) resolve(this.#early)
    })
  }

  #settle(outcome: Decision | Promise<never>): void {
    if (this.#resolve === undefined) this.#early = outcome
    else this.#resolve(outcome)
  }
}
