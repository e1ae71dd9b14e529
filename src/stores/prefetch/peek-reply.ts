import type { Clock } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Reply, StoreCall } from '../../core/store.ts'
import type { HeldGrant } from './held-grant.ts'
import { type Moment, readMoment } from './moment.ts'

/** Adds what is left here to what the store says is free there. */
export class PeekReply implements Reply {
  readonly #call: StoreCall
  readonly #grants: readonly (HeldGrant | undefined)[]
  readonly #clock: Clock | undefined
  readonly #reply: Reply

  constructor(call: StoreCall, grants: readonly (HeldGrant | undefined)[], clock: Clock | undefined, reply: Reply) {
    this.#call = call
    this.#grants = grants
    this.#clock = clock
    this.#reply = reply
  }

  done(results: readonly LimitResult[]): void {
    this.#reply.done(addLeft(this.#call, this.#grants, results, readMoment(this.#clock)))
  }

  failed(error: unknown): void {
    this.#reply.failed(error)
  }
}

/** What a peek says that this process could do: it may spend its grants, and ask for the rest. */
export function addLeft(
  { operations }: StoreCall,
  grants: readonly (HeldGrant | undefined)[],
  results: readonly LimitResult[],
  now: Moment,
): readonly LimitResult[] {
  return results.map((result, index) => {
    const grant = grants[index]
    const { rule, amount } = operations[index] as Operation
    if (grant === undefined || grant.left === 0 || grant.rule !== rule || !grant.isLive(now)) return result
    const remaining = result.remaining + grant.left
    const passes = amount <= grant.left || (result.reason === 'limit' && amount <= remaining)
    return result.allowed || !passes ? { ...result, remaining } : { ...withoutSource(grant.describe(now)), remaining }
  })
}

// The store was asked.
function withoutSource({ decidedBy: _, ...result }: LimitResult): LimitResult {
  return result
}
