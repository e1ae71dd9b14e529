import { localTimeMs } from '../core/clock.ts'
import type { LimitResult } from '../core/decision.ts'
import type { Limit } from '../core/limit.ts'
import type { Operation } from '../core/operation.ts'
import type { Reply, Store, StoreCall } from '../core/store.ts'
import { type Denials, joinDenials } from './denials.ts'

/** What a denial cache needs. */
export interface DenialCacheOptions {
  /** The store that is shared: limiters of one name on it know of each other's refusals. */
  readonly base: Store
  readonly limiter: string
  /** After how long the store is asked again at the latest; 0 asks every time. */
  readonly maxAgeMs: number
}

/**
 * A store that answers what `store` has refused and would refuse again, without asking it. It answers only what is right for that very call,
 * and after all that this process has done to its keys since; anything else goes to the store.
 */
export function withDenialCache(store: Store, options: DenialCacheOptions): Store {
  const { base, limiter, maxAgeMs } = options
  const { denials, leave } = joinDenials(base, limiter)
  const cache = new DenialCache(denials, maxAgeMs)
  return {
    name: store.name,
    isLocal: store.isLocal,
    register: (limit) => store.register(limit),
    unregister: (limit) => store.unregister?.(limit),
    decide(call, reply) {
      const askedMs = localTimeMs(call.nowMs)
      const known = cache.find(call, askedMs)
      if (known !== undefined) return known
      try {
        const results = store.decide(call, new NotingReply(cache, call, askedMs, reply))
        if (results !== undefined) cache.note(call, results, askedMs)
        return results
      } catch (error) {
        cache.forget(call.operations)
        throw error
      }
    },
    async close() {
      await store.close?.()
      leave()
    },
  }
}

/** Notes what a store says, on its way to the caller. */
class NotingReply implements Reply {
  readonly #cache: DenialCache
  readonly #call: StoreCall
  readonly #askedMs: number
  readonly #reply: Reply

  constructor(cache: DenialCache, call: StoreCall, askedMs: number, reply: Reply) {
    this.#cache = cache
    this.#call = call
    this.#askedMs = askedMs
    this.#reply = reply
  }

  done(results: readonly LimitResult[]): void {
    this.#cache.note(this.#call, results, this.#askedMs)
    this.#reply.done(results)
  }

  failed(error: unknown): void {
    // The store may have done what it was asked for.
    this.#cache.forget(this.#call.operations)
    this.#reply.failed(error)
  }
}

class DenialCache {
  readonly #denials: Denials
  readonly #maxAgeMs: number

  constructor(denials: Denials, maxAgeMs: number) {
    this.#denials = denials
    this.#maxAgeMs = maxAgeMs
  }

  /** What the store would say of a call, as far as is known. A call that may change its keys makes what is known of them void. */
  find({ operations, idempotency }: StoreCall, nowMs: number): readonly LimitResult[] | undefined {
    if (this.#denials.isEmpty) return undefined
    if (idempotency !== undefined || !operations.every(isConsume)) {
      this.forget(operations)
      return undefined
    }
    const denial = this.#denials.find(callName(operations), nowMs, this.#maxAgeMs)
    if (denial === undefined) return undefined
    const { amounts, rules, results, answeredMs } = denial
    const isSame = operations.every(({ amount, rule }, index) => amount === amounts[index] && rule === rules[index])
    return isSame ? results.map((result) => later(result, nowMs - answeredMs)) : undefined
  }

  /** The store, or a layer instead of it, has answered a call. */
  note(call: StoreCall, results: readonly LimitResult[], askedMs: number): void {
    const { operations, nowMs } = call
    if (!isRefusal(call, results)) {
      this.forget(operations)
      return
    }
    // A refusal may have blocked some of the keys.
    for (const operation of operations) if (operation.limit.blockMs > 0) this.#denials.forget(limitName(operation))
    const lastsMs = this.#lastsMs(operations, results)
    if (lastsMs === 0) return
    this.#denials.note(callName(operations), {
      amounts: operations.map(({ amount }) => amount),
      rules: operations.map(({ rule }) => rule),
      results,
      limits: operations[0]?.limit.tier === undefined ? [] : operations.map(limitName),
      lastsMs,
      askedMs,
      answeredMs: localTimeMs(nowMs),
    })
  }

  /** A call changes its keys, or may have done so without saying it. */
  forget(operations: readonly Operation[]): void {
    if (this.#denials.isEmpty) return
    for (const operation of operations) if (operation.type !== 'peek') this.#denials.forget(limitName(operation))
  }

  // While time passes and no other request comes, what refuses goes on refusing and what passes goes on passing, with as much left or
  // more. So the least that is left is certain only where it is left of a limit that refuses.
  #lastsMs(operations: readonly Operation[], results: readonly LimitResult[]): number {
    let lastsMs = Number.POSITIVE_INFINITY
    let least = Number.POSITIVE_INFINITY
    let leastRefused = Number.POSITIVE_INFINITY
    for (const [index, operation] of operations.entries()) {
      const { shadow } = operation.limit
      const result = results[index] as LimitResult
      if (!shadow) least = Math.min(least, result.remaining)
      if (result.allowed) continue
      lastsMs = Math.min(lastsMs, this.#refusalLastsMs(operation, result))
      if (!shadow) leastRefused = Math.min(leastRefused, result.remaining)
    }
    return leastRefused > least ? 0 : lastsMs
  }

  /** For how long one limit would say the same of a cost that it has refused; 0 when that is not known. */
  #refusalLastsMs({ limit, rule, amount }: Operation, result: LimitResult): number {
    const { remaining, retryAfterMs, reason, blockedMs = 0 } = result
    // A permit may be released at any time.
    if (this.#maxAgeMs === 0 || rule.comesBack === 'on-release') return 0
    if (reason === 'blocked') return Math.min(blockedMs, retryAfterMs)
    // One that never passes is known by its cost alone, and one that blocks its key is blocked from now on.
    if (reason !== 'limit' || limit.blockMs > 0) return 0
    // As much is left until one more passes, and for a greater cost no store has said when that is.
    return amount === remaining + 1 ? retryAfterMs : 0
  }
}

function isConsume({ type }: Operation): boolean {
  return type === 'consume'
}

function isRefusal({ operations, idempotency }: StoreCall, results: readonly LimitResult[]): boolean {
  if (idempotency !== undefined || results[0]?.decidedBy !== undefined || !operations.every(isConsume)) return false
  return operations.some(({ limit }, index) => !limit.shadow && results[index]?.allowed === false)
}

function callName(operations: readonly Operation[]): string {
  const first = operations[0] as Operation
  return first.limit.tier === undefined ? first.key : JSON.stringify(operations.map(limitName))
}

// Encoded keys contain no space.
function limitName({ limit, key }: { readonly limit: Limit; readonly key: string }): string {
  return limit.tier === undefined ? key : `${key} ${limit.tier}`
}

// Counted from when it was answered: a client that comes back then does not come too early.
function later(result: LimitResult, sinceMs: number): LimitResult {
  const { allowed, remaining, retryAfterMs, resetAfterMs, reason } = result
  return {
    allowed,
    remaining,
    retryAfterMs: allowed ? 0 : retryAfterMs - sinceMs,
    resetAfterMs: Math.max(0, resetAfterMs - sinceMs),
    delayMs: 0,
    reason,
    nextAfterMs: undefined,
    blockedMs: undefined,
    decidedBy: 'denial-cache',
  }
}
