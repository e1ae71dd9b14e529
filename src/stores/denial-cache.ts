import { localTimeMs } from '../core/clock.ts'
import type { LimitResult } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { Reply, Store, StoreCall } from '../core/store.ts'
import { Denials, nameKey, openDenials } from './denials.ts'

/** Options of `withDenialCache`. */
export interface DenialCacheOptions {
  /** After how long the store is asked again at the latest; 0 asks every time. */
  readonly maxAgeMs: number
  /**
   * The store under all layers. Caches around the same one share what they know, limiter by limiter.
   * @default the store itself
   */
  readonly base?: Store
}

/**
 * A store that answers what `store` has refused and would refuse again, without asking it. It answers only what is right for that very call,
 * and after all that this process has done to its keys since; anything else goes to the store.
 */
export function withDenialCache(store: Store, { maxAgeMs, base = store }: DenialCacheOptions): Store {
  const cache = new DenialCache(openDenials(base), maxAgeMs)
  const decide = (call: StoreCall, reply: Reply): readonly LimitResult[] | undefined => {
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
  }
  return {
    name: store.name,
    isLocal: store.isLocal,
    layers: store.layers,
    ...(store.realTime === true ? { realTime: true } : {}),
    register(limit) {
      cache.join(limit.limiter)
      store.register(limit)
    },
    unregister(limit) {
      cache.leave(limit.limiter)
      store.unregister?.(limit)
    },
    decide: Object.assign(decide, { one: cache.findOne }),
    trouble: () => store.trouble?.(),
    close: async () => store.close?.(),
  }
}

/** Lets the limiters of a name ask again about every key: all of them were forgotten. */
export function forgetDenials(base: Store, limiter: string): void {
  openDenials(base).get(limiter)?.clear()
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
  readonly #byLimiter: Map<string, Denials>
  readonly #maxAgeMs: number

  constructor(byLimiter: Map<string, Denials>, maxAgeMs: number) {
    this.#byLimiter = byLimiter
    this.#maxAgeMs = maxAgeMs
  }

  /** Another limit of this limiter is in use. */
  join(limiter: string): void {
    const denials = this.#byLimiter.get(limiter) ?? new Denials()
    this.#byLimiter.set(limiter, denials)
    denials.limits++
  }

  /** One limit less. With the last one, what is known of the limiter goes. */
  leave(limiter: string): void {
    const denials = this.#byLimiter.get(limiter)
    if (denials !== undefined && --denials.limits === 0) this.#byLimiter.delete(limiter)
  }

  /** What the store would say of a consume of a limiter without tiers, as far as is known. */
  readonly findOne = (operation: Operation, nowMs: number): LimitResult | undefined => {
    const { limit, key, type } = operation
    const denials = this.#byLimiter.get(limit.limiter)
    if (denials === undefined || denials.isEmpty || type !== 'consume' || limit.tier !== undefined) return undefined
    const localMs = localTimeMs(nowMs)
    const denial = denials.find(key, localMs, this.#maxAgeMs)
    if (denial === undefined || !isSame(operation, denial.operations[0])) return undefined
    return runDown(denial.results[0] as LimitResult, localMs - denial.answeredMs)
  }

  /** What the store would say of a call, as far as is known. A call that may change its keys makes what is known of them void. */
  find(call: StoreCall, nowMs: number): readonly LimitResult[] | undefined {
    const { operations } = call
    const denials = this.#byLimiter.get((operations[0] as Operation).limit.limiter)
    if (denials === undefined || denials.isEmpty) return undefined
    if (!isKnowable(call)) {
      this.forget(operations)
      return undefined
    }
    const denial = denials.find(nameCall(operations), nowMs, this.#maxAgeMs)
    if (denial === undefined || !operations.every((operation, index) => isSame(operation, denial.operations[index]))) {
      return undefined
    }
    return denial.results.map((result) => runDown(result, nowMs - denial.answeredMs))
  }

  /** The store, or a layer instead of it, has answered a call. */
  note(call: StoreCall, results: readonly LimitResult[], askedMs: number): void {
    const { operations, nowMs } = call
    const denials = this.#byLimiter.get((operations[0] as Operation).limit.limiter)
    if (denials === undefined || !isRefusal(operations, results) || !isKnowable(call)) {
      if (denials?.isEmpty !== true) this.forget(operations)
      return
    }
    // A refusal may have blocked some of the keys, and may have converted what another rule had counted.
    for (const operation of operations) {
      denials.forget(nameKey(operation), operation.blockMs > 0 ? undefined : operation.rule)
    }
    const lastsMs = this.#measure(operations, results)
    if (lastsMs > 0) {
      denials.note(nameCall(operations), { operations, results, lastsMs, askedMs, answeredMs: localTimeMs(nowMs) })
    }
  }

  /** A call changes its keys, or may have done so without saying it. A peek changes only what another rule has counted. */
  forget(operations: readonly Operation[]): void {
    for (const operation of operations) {
      const denials = this.#byLimiter.get(operation.limit.limiter)
      if (denials === undefined || denials.isEmpty) continue
      denials.forget(nameKey(operation), operation.type === 'peek' ? operation.rule : undefined)
    }
  }

  // While time passes and no other request comes, what refuses goes on refusing and what passes goes on passing, with as much left or
  // more. So the least that is left is certain only where it is left of a limit that refuses.
  #measure(operations: readonly Operation[], results: readonly LimitResult[]): number {
    let lastsMs = this.#maxAgeMs === 0 ? 0 : Number.POSITIVE_INFINITY
    let least = Number.POSITIVE_INFINITY
    let leastRefused = Number.POSITIVE_INFINITY
    for (const [index, operation] of operations.entries()) {
      const { shadow } = operation.limit
      const result = results[index] as LimitResult
      if (!shadow) least = Math.min(least, result.remaining)
      if (result.allowed) continue
      lastsMs = Math.min(lastsMs, measureRefusal(operation, result))
      if (!shadow) leastRefused = Math.min(leastRefused, result.remaining)
    }
    return leastRefused > least ? 0 : lastsMs
  }
}

/** For how long one limit would say the same of a cost that it has refused; 0 when that is not known. */
function measureRefusal({ blockMs, rule, amount }: Operation, result: LimitResult): number {
  const { remaining, retryAfterMs, reason, blockedMs = 0 } = result
  // A permit may be released at any time.
  if (rule.replenishes === 'on-release') return 0
  if (reason === 'blocked') return Math.min(blockedMs, retryAfterMs)
  // One that never passes is known by its cost alone, and one that blocks its key is blocked from now on.
  if (reason !== 'limit' || blockMs > 0) return 0
  // As much is left until one more passes, and for a greater cost no store has said when that is.
  return amount === remaining + 1 ? retryAfterMs : 0
}

/** Whether a call only consumes, from limits of one limiter that can be distinguished. */
function isKnowable({ operations, idempotency }: StoreCall): boolean {
  if (idempotency !== undefined) return false
  const { limiter } = (operations[0] as Operation).limit
  return operations.every(({ type, limit }) => {
    return type === 'consume' && limit.limiter === limiter && (limit.tier !== undefined || operations.length === 1)
  })
}

function isRefusal(operations: readonly Operation[], results: readonly LimitResult[]): boolean {
  if (results[0]?.decidedBy !== undefined) return false
  for (let index = 0; index < operations.length; index++) {
    if (results[index]?.allowed === false && operations[index]?.limit.shadow === false) return true
  }
  return false
}

function isSame({ amount, rule, blockMs }: Operation, known: Operation | undefined): boolean {
  return amount === known?.amount && rule === known.rule && blockMs === known.blockMs
}

function nameCall(operations: readonly Operation[]): string {
  const first = operations[0] as Operation
  return first.limit.tier === undefined ? first.key : JSON.stringify(operations.map(nameKey))
}

// Counted from when it was answered: a client that comes back then does not come too early.
function runDown(result: LimitResult, sinceMs: number): LimitResult {
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
