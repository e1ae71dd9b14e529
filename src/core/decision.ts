import type { Rule } from './rule.ts'

/** Why a request was rejected. */
export type Reason =
  /** The rule has not enough left. */
  | 'limit'
  /** The cost is greater than the rule could ever allow. */
  | 'cost-exceeds-limit'
  /** The key is blocked, by `block()` or by an earlier rejection. */
  | 'blocked'
  /** `maxQueue` callers already wait for the key. */
  | 'queue-full'
  /** The reservation or the lease has expired, or was settled before. */
  | 'reservation-ended'
  /** The store did not answer, and `onStoreFailure` is `'refuse'`. */
  | 'store-unavailable'

/** What a process got to decide from, and what others have. */
export interface Granted {
  /** Units beside the cost that was taken; 0 where there was none to give. */
  readonly units: number
  /** For how long they may be spent, from the time of the decision on. */
  readonly lastsMs: number
  /** How many grants of the key are live, this one among them. */
  readonly live: number
  /** When the last of them ends, from the time of the decision on; 0 without one. */
  readonly endsMs: number
}

/** The result of one operation on one limit. All times are durations in whole milliseconds, rounded up. */
export interface LimitResult {
  readonly allowed: boolean
  /** How many requests of cost 1 would pass right now. */
  readonly remaining: number
  /**
   * Zero when allowed; otherwise the first instant at which the same cost passes if no other request comes.
   * `Infinity` when it never will.
   */
  readonly retryAfterMs: number
  /** Time until the key is untouched again, with reservations at the latest. */
  readonly resetAfterMs: number
  /** How long an admitted request should wait before it goes on, so that the outflow is even. Zero unless the rule queues. */
  readonly delayMs: number
  /** Why it was rejected; `undefined` when allowed. */
  readonly reason: Reason | undefined
  /**
   * Time until more than `remaining` would pass if no other request comes, zero when nothing is used. `undefined` when rejected:
   * `retryAfterMs` is the time to wait then.
   */
  readonly nextAfterMs: number | undefined
  /** Time until the block ends. Only there when the reason is `'blocked'`; a request that needs more than the rule has left waits longer. */
  readonly blockedMs?: number | undefined
  /** Only of a `grant`. */
  readonly granted?: Granted | undefined
  /** Set by a layer that answered instead of the store. */
  readonly decidedBy?: string
  /** Set by a layer that decided by another rule than the operation's. */
  readonly rule?: Rule
}

/**
 * The answer to one request, narrowed by `allowed`. A rejected request is an answer, never an exception.
 *
 * Over several tiers `remaining` is the smallest, `retryAfterMs`, `resetAfterMs` and `delayMs` are the largest, and `nextAfterMs` is
 * that of the tier with the least remaining.
 */
export type Decision<Tier extends string = string> = Allowed<Tier> | Refused<Tier>

/** A decision that lets the request pass. */
export interface Allowed<Tier extends string = string> extends DecisionNumbers<Tier> {
  readonly allowed: true
  readonly retryAfterMs: 0
  /** How long the request should wait before it goes on, so that the outflow is even. Zero unless the rule queues. */
  readonly delayMs: number
  readonly reason: undefined
  readonly limitedBy: undefined
  /** Milliseconds until more than `remaining` would pass, assuming no other traffic; zero when nothing is used. */
  readonly nextAfterMs: number
}

/** A decision that rejects the request. Nothing was taken. */
export interface Refused<Tier extends string = string> extends DecisionNumbers<Tier> {
  readonly allowed: false
  /** Milliseconds until the same request would be allowed, assuming no other traffic. `Infinity` when it never will. */
  readonly retryAfterMs: number
  readonly delayMs: 0
  readonly reason: Reason
  /** The name of the limit that rejected; of several, the one that rejects longest. */
  readonly limitedBy: LimitName<Tier>
  readonly nextAfterMs: undefined
}

/** A tier's name, or the limiter's own when it has no tiers. */
export type LimitName<Tier extends string> = [Tier] extends [never] ? string : Tier

/** The numbers of every decision. */
interface DecisionNumbers<Tier extends string> {
  /** The most that the rule allows at once: of the tier that rejected, or else of the one with the least remaining. */
  readonly limit: number
  /** How many requests of cost 1 would pass right now. */
  readonly remaining: number
  /** Milliseconds until the key is untouched again. */
  readonly resetAfterMs: number
  /** The names of the limits in shadow mode that would have rejected. */
  readonly wouldRefuse: readonly LimitName<Tier>[]
  /** The name of the store, such as `'memory'` or `'redis'`; `'denial-cache'`, `'fallback'` or `'prefetch'` where one of these answered instead. */
  readonly decidedBy: string
  /** Each tier's own numbers by its name. Empty for a limiter of one rule: its numbers are the decision's. */
  readonly tiers: { readonly [Name in Tier]?: TierResult }
}

/** One tier's own numbers inside a decision. */
export interface TierResult extends Omit<LimitResult, 'blockedMs' | 'decidedBy' | 'rule'> {
  readonly limit: number
}
