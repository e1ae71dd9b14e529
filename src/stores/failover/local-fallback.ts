import { type Clock, timerNowMs } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import { asPeek, createOperation, isTaking, type LimitKey, type Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Idempotency, StoreCall } from '../../core/store.ts'
import { FallbackLimit, type LocalStore, type Write } from './fallback-limit.ts'

/** What deciding without a store needs. */
export interface LocalFallbackOptions {
  /** Where it is decided instead. */
  readonly local: LocalStore
  readonly clock: Clock | undefined
  /** Among how many instances the limits of a limiter are shared. */
  countInstances(limiter: string): number
  readonly write: Write
}

/** One operation without its store. */
interface Part {
  readonly operation: Operation
  readonly local: FallbackLimit
  /** The rule that is decided by here. */
  readonly share: Rule
  /** What is asked here; absent: nothing, the limit's `onStoreFailure` has the answer. */
  readonly here: Operation | undefined
}

/** How many holds that were taken here are known, those of settled ones excluded. */
const MOST_HOLDS = 10_000

/** Decides as a limiter's limits say while its store is not there, and remembers what to write to the store later. */
export class LocalFallback {
  /** Whether it has ever decided. */
  isUsed = false
  readonly #options: LocalFallbackOptions
  readonly #limits = new Map<Limit, FallbackLimit>()
  /** The holds that were taken here, and not in the store. */
  readonly #holds = new Set<number>()
  /** Answers to idempotency keys that have been counted. */
  readonly #counted = new WeakSet<readonly LimitResult[]>()

  constructor(options: LocalFallbackOptions) {
    this.#options = options
  }

  /** Whether an operation is about a hold that was taken here: its store knows nothing of it. */
  isHeldHere(operations: readonly Operation[]): boolean {
    return operations.some(({ type, holdId }) => (type === 'settle' || type === 'extend') && this.#holds.has(holdId))
  }

  /**
   * Decides without the store. No limit says `'throw'`.
   *
   * @param wasAsked whether the store was asked, and may have done what it was asked for.
   */
  decide({ operations, nowMs, idempotency }: StoreCall, wasAsked: boolean): readonly LimitResult[] {
    const isRefused = operations.some((operation) => {
      const { onStoreFailure, shadow } = operation.limit
      return onStoreFailure === 'refuse' && !shadow && isTaking(operation)
    })
    const parts = operations.map((operation) => this.#createPart(operation, isRefused))
    const asking = parts.filter(({ here }) => here !== undefined)
    const decided = this.#decideLocally(asking, nowMs, idempotency)
    const byPart = new Map(asking.map((part, index) => [part, decided[index] as LimitResult]))
    const results = parts.map((part) => answer(part, byPart.get(part)))
    const passes = operations.every((operation, index) => {
      return operation.limit.shadow || !isTaking(operation) || results[index]?.allowed === true
    })
    if (!this.#counted.has(decided)) {
      for (const part of parts) this.#note(part, passes, byPart.get(part), nowMs)
    }
    if (idempotency !== undefined) this.#counted.add(decided)
    if (wasAsked) this.#endHolds(parts)
    for (const { type, holdId } of operations) if (type === 'settle') this.#holds.delete(holdId)
    return results
  }

  /** Whether something has to be written to the store before these are decided there. */
  hasPending(keys: readonly Pick<LimitKey, 'limit'>[]): boolean {
    return keys.some(({ limit }) => this.#limits.get(limit)?.hasPending === true)
  }

  /** Writes to the store what these keys owe it. Rejects when that fails. */
  async replay(keys: readonly Pick<LimitKey, 'limit' | 'key'>[], nowMs: number): Promise<void> {
    await Promise.all(keys.map(({ limit, key }) => this.#replay(limit, key, nowMs)))
  }

  /** Writes to the store what all keys owe it, `atOnce` at a time, as long as `isAsking` says so. */
  async replayAll(nowMs: number, isAsking: () => boolean, atOnce: number): Promise<void> {
    const pending = [...this.#limits].flatMap(([limit, local]) => local.listPending().map((key) => ({ limit, key })))
    for (let at = 0; at < pending.length && isAsking(); at += atOnce) {
      await Promise.allSettled(pending.slice(at, at + atOnce).map(({ limit, key }) => this.#replay(limit, key, nowMs)))
    }
  }

  #replay(limit: Limit, key: string, nowMs: number): Promise<void> | undefined {
    const { clock, write } = this.#options
    return this.#limits.get(limit)?.replay(key, nowMs, timerNowMs(clock), write)
  }

  #createPart(operation: Operation, isRefused: boolean): Part {
    const { limit, rule } = operation
    const local = this.#openLimit(limit)
    const isHere = limit.onStoreFailure === 'fallback'
    const share = isHere ? local.share(rule) : rule
    return { operation, local, share, here: isHere ? this.#moveHere(operation, local, share, isRefused) : undefined }
  }

  // Of a hold that the store has, nothing is known here, and what another limit refuses is not taken.
  #moveHere(operation: Operation, { limit }: FallbackLimit, rule: Rule, isRefused: boolean): Operation {
    const moved = { ...operation, limit, rule }
    const isEnding = operation.type === 'settle' || operation.type === 'extend'
    if (isEnding && !this.#holds.has(operation.holdId)) return createOperation(moved, 'peek', { rule })
    if (isRefused && isTaking(operation)) return asPeek(moved)
    // What is decided here is not spent elsewhere.
    return operation.type === 'grant' ? { ...moved, type: 'consume' } : moved
  }

  #decideLocally(parts: readonly Part[], nowMs: number, idempotency: Idempotency | undefined): readonly LimitResult[] {
    if (parts.length === 0) return []
    const operations = parts.map(({ here }) => here as Operation)
    const decide = (given: Idempotency | undefined): readonly LimitResult[] => {
      const call = { operations, nowMs, idempotency: given, timeoutMs: 0 }
      return this.#options.local.decide(call)
    }
    if (idempotency === undefined) return decide(undefined)
    try {
      return decide(idempotency)
    } catch {
      // There is no room for another idempotency key. The call is counted all the same.
      return decide(undefined)
    }
  }

  /** Notes what to write to the store later. */
  #note({ operation, local, share }: Part, passes: boolean, result: LimitResult | undefined, nowMs: number): void {
    const { type, key, rule, amount, holdId, grant, limit, replaces } = operation
    const { log } = local
    const isHere = limit.onStoreFailure === 'fallback'
    switch (type) {
      case 'consume':
      case 'grant':
        if (passes && result?.allowed === true) log.spend(key, rule, amount, share.limit - result.remaining)
        break
      case 'reserve':
        if (passes) this.#noteHold(holdId)
        break
      case 'charge':
        if (isHere) log.spend(key, rule, amount)
        else local.charge(operation, nowMs)
        break
      case 'refund':
        log.refund(key, amount)
        break
      case 'settle':
        if (grant !== undefined) break
        if (!this.#holds.has(holdId)) log.settle(key, rule, holdId, amount)
        else if (isHere && result?.allowed === true) log.spend(key, rule, amount)
        else if (!isHere && amount > 0) local.charge(operation, nowMs)
        break
      case 'block':
        log.block(key, rule, timerNowMs(this.#options.clock) + amount, replaces)
        break
      case 'unblock':
        log.unblock(key, rule)
        break
      case 'reset':
        log.reset(key, rule)
        break
      default:
    }
  }

  // What the store holds without having said so goes back when it hears of it.
  #endHolds(parts: readonly Part[]): void {
    for (const { operation, local } of parts) {
      const { type, key, rule, holdId } = operation
      if (type === 'reserve') local.log.settle(key, rule, holdId, 0)
    }
  }

  #noteHold(id: number): void {
    this.#holds.add(id)
    if (this.#holds.size > MOST_HOLDS) this.#holds.delete(this.#holds.values().next().value as number)
  }

  #openLimit(limit: Limit): FallbackLimit {
    const known = this.#limits.get(limit)
    if (known !== undefined) return known
    const { local, countInstances } = this.#options
    const opened = new FallbackLimit(local, limit, () => countInstances(limit.limiter))
    this.#limits.set(limit, opened)
    this.isUsed = true
    return opened
  }
}

/** When to try again where only the store could tell. */
const RETRY_MS = 1_000

function answer({ operation, share }: Part, decided: LimitResult | undefined): LimitResult {
  if (decided !== undefined) return answerByShare(decided, operation, share)
  return operation.limit.onStoreFailure === 'allow' ? allow(share) : refuse(operation, share)
}

/** A result by a share of the operation's rule. What the share can never let pass may pass when the store is back. */
function answerByShare(result: LimitResult, { amount, rule }: Operation, share: Rule): LimitResult {
  const { allowed, remaining, resetAfterMs, delayMs, nextAfterMs, blockedMs } = result
  const isOnlyHere = result.reason === 'cost-exceeds-limit' && amount <= rule.limit
  const retryAfterMs = isOnlyHere ? RETRY_MS : result.retryAfterMs
  const reason = isOnlyHere ? 'store-unavailable' : result.reason
  const numbers = { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, blockedMs }
  return { ...numbers, decidedBy: 'fallback', rule: share }
}

/** What passes because no store counts. */
function allow(rule: Rule): LimitResult {
  return {
    allowed: true,
    remaining: rule.limit,
    retryAfterMs: 0,
    resetAfterMs: 0,
    delayMs: 0,
    reason: undefined,
    nextAfterMs: 0,
    blockedMs: undefined,
    decidedBy: 'fallback',
    rule,
  }
}

/** What does not pass because no store can count. What ends a reservation is no request to pass. */
function refuse({ type }: Operation, rule: Rule): LimitResult {
  const isEnding = type === 'settle' || type === 'extend'
  return {
    allowed: isEnding,
    remaining: 0,
    retryAfterMs: isEnding ? 0 : RETRY_MS,
    resetAfterMs: RETRY_MS,
    delayMs: 0,
    reason: isEnding ? undefined : 'store-unavailable',
    nextAfterMs: isEnding ? RETRY_MS : undefined,
    blockedMs: undefined,
    decidedBy: 'fallback',
    rule,
  }
}
