import type { Clock } from './clock.ts'
import type { LimitResult } from './decision.ts'
import type { Limit } from './limit.ts'
import type { Operation } from './operation.ts'

/** Keeps the state of keys, and decides each call atomically, over as many keys as it is about. */
export interface Store {
  /** What decisions report as `decidedBy`: `'memory'`, `'redis'`, or a name of one's own. */
  readonly name: string
  /** Whether it answers at once from this process. Limiters put nothing around such a store: no deadline, no fallback, no denial cache. */
  readonly isLocal: boolean
  /** Puts around the store what it needs where it is not local: `remoteLayers`. A local store has none. */
  readonly layers?: ((store: Store, options: LayerOptions) => LayeredStore) | undefined
  /**
   * Whether its answers take real time, as those of a server do: limiters then wait for it, leave it alone and try it again by real
   * time, whatever their clock says. Absent: by the timers of their clock.
   */
  readonly realTime?: boolean
  /** Announces a limit before its first operation. Limits of the same limiter, tier and state name reach the same keys. */
  register(limit: Limit): void
  /** No operation of this limit comes any more: its limiter was closed. What counts stays. Optional. */
  unregister?(limit: Limit): void
  readonly decide: Decide
  /** Forgets all keys of a limit. Optional: a store that cannot find its keys again has none. */
  clear?(limit: Limit): void | Promise<void>
  /** Why the store does not answer, as far as it knows: asked when a decision got no answer in time. Optional. */
  trouble?(): Error | undefined
  /** Frees what the store holds. Optional: a store that holds only memory needs none. */
  close?(): Promise<void>
}

/** How a store decides calls. */
export interface Decide {
  /**
   * Decides all operations at one instant. What consumes or reserves is taken by all of them or by none.
   *
   * Returns the results in the order of the operations if they are known now, and throws if they cannot be. Otherwise returns undefined
   * and calls `reply` exactly once, as a rule later.
   */
  (call: StoreCall, reply: Reply): readonly LimitResult[] | undefined
  /**
   * The result of one operation without an idempotency key, if it is known now. Otherwise undefined: nothing was done, and `decide` has to
   * be called. Optional: to make a call and a list of results takes as long as a decision that is made at once. A property of `decide`,
   * so that what replaces one replaces both.
   */
  readonly one?: (operation: Operation, nowMs: number) => LimitResult | undefined
}

/** One call to a store: operations that it decides at one instant. */
export interface StoreCall {
  /** At least one. */
  readonly operations: readonly Operation[]
  /** The caller's clock, or `STORE_TIME` for the store's own. */
  readonly nowMs: number
  /** A repeated key within its `ttlMs` of its admission gets the first results and takes nothing. */
  readonly idempotency: Idempotency | undefined
  /** When the caller gives up, in milliseconds: what has not been sent by then is dropped. 0 for never. */
  readonly timeoutMs: number
}

/** Lets a call that is sent twice count once. */
export interface Idempotency {
  readonly key: string
  readonly ttlMs: number
}

/** Waits for a store. It hears once, one or the other. */
export interface Reply {
  done(results: readonly LimitResult[]): void
  failed(error: unknown): void
  /**
   * Says how the call is cancelled: `cancel` is called when the caller gives up, at its timeout, with its reply. A later one
   * replaces it. Absent: the caller waits without a limit.
   */
  onTimeout?(cancel: (reason: Error) => void): void
}

/** What the layers around a store know of their limiter. Trusted: `createLimiter` has checked it. */
export interface LayerOptions {
  readonly clock: Clock | undefined
  /** How long a decision waits for the store. */
  readonly timeoutMs: number
  /** Among how many instances a limit is shared without the store. Absent: the store counts them. */
  readonly instances: number | undefined
  /** For how long a refusal is known at most; 0 asks the store every time. */
  readonly denialCacheMs: number
  /** Whether a limit has `prefetch`. */
  readonly prefetches: boolean
  readonly events: StoreEvents
}

/** Listeners for the health of the store. */
export interface StoreEvents {
  has(name: 'storeFailed' | 'degraded'): boolean
  storeFailed(error: unknown): void
  degraded(error: unknown): void
  recovered(afterMs: number): void
  /** Something happened to the units that a limit's grants bring to this process. */
  prefetched(limit: Limit, what: PrefetchCount, units: number): void
}

/**
 * What is counted of grants. `calls`: requests to the store that asked for one. `granted`: units that came beside the request that asked.
 * `returned`: units that went back. `late`: units that came or went back too late, and count as spent.
 */
export type PrefetchCount = 'calls' | 'granted' | 'returned' | 'late'

/** A store with layers around it. Closing it leaves the store open. */
export interface LayeredStore extends Store {
  readonly health: Health
}

/** The health of a store, as this process sees it. */
export interface Health {
  /** `'degraded'`: the store is not asked, and decisions are made without it. */
  readonly state: 'healthy' | 'degraded'
  /** For how long it has been so, in milliseconds. */
  readonly forMs: number
  /** What went wrong, while degraded. */
  readonly error: unknown
}
