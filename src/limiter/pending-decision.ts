import type { DecidedBy, Decision, LimitResult } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { Reply } from '../core/store.ts'
import { composeDecision } from './compose-decision.ts'

/** A decision that its store makes later. It makes a promise only when the caller has to wait. */
export class PendingDecision implements Reply {
  readonly #operations: readonly Operation[]
  readonly #decidedBy: DecidedBy
  #resolve: ((decision: Decision) => void) | undefined
  #reject: ((error: unknown) => void) | undefined

  constructor(operations: readonly Operation[], decidedBy: DecidedBy) {
    this.#operations = operations
    this.#decidedBy = decidedBy
  }

  done(results: readonly LimitResult[]): void {
    this.#resolve?.(composeDecision(this.#operations, results, this.#decidedBy))
  }

  failed(error: unknown): void {
    this.#reject?.(error)
  }

  promise(): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }
}
