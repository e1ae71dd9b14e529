import type { Decision } from '../core/decision.ts'
import type { Duration } from '../core/duration.ts'
import type { Subject } from '../core/key.ts'
import type { Signal } from '../core/signal.ts'

/**
 * Whom a decision is about. For a limiter of tiers: one subject for all of them, or a subject for each tier by its name; a tier
 * that is left out or `undefined` takes no part.
 */
export type Key<Tier extends string = never> = [Tier] extends [never]
  ? Subject
  : Subject | { readonly [Name in Tier]?: Subject | undefined }

/** How much: one amount for all tiers, or an amount for each by its name. */
export type Amounts<Tier extends string = never> = [Tier] extends [never]
  ? number
  : number | { readonly [Name in Tier]?: number | undefined }

/** Options of `peek`. */
export interface CostOptions<Tier extends string = never> {
  /**
   * How much the request takes, whole numbers of at least 1. A tier that is not named takes 1.
   * @default 1
   */
  readonly cost?: Amounts<Tier>
}

/** Options of `consume`. */
export interface ConsumeOptions<Tier extends string = never> extends CostOptions<Tier> {
  /**
   * Names the request, up to 200 characters. A repeated request with the same key and idempotency key within `idempotencyTtl` gets
   * the first decision and is not counted again. A refusal is not remembered: nothing was counted, and the request may try again.
   */
  readonly idempotencyKey?: string
}

/** Options of `reserve`. */
export interface ReserveOptions<Tier extends string = never> {
  /** How much it may take, whole numbers of at least 1. A tier that is not named takes 1. */
  readonly estimate: Amounts<Tier>
  /**
   * When an unsettled reservation expires and is refunded, 1 ms to 10 years: longer than the work may take. Permits of a
   * `concurrency()` rule expire after its `lease`.
   * @default '1m'
   */
  readonly expiresIn?: Duration
}

/** Options of `acquire`. */
export interface AcquireOptions<Tier extends string = never> extends CostOptions<Tier> {
  /**
   * Renews the lease in the background for as long as this process lives and the lease is not released.
   * @default true
   */
  readonly heartbeat?: boolean
}

/** Options of `block`. */
export interface BlockOptions {
  /**
   * Whether the block ends after its own time also when an earlier one ends later.
   * @default false
   */
  readonly replace?: boolean
}

/** Options of `wait` and `schedule`. */
export interface WaitOptions<Tier extends string = never> extends CostOptions<Tier> {
  /**
   * The longest to wait, from 0 on. What cannot pass by then is refused, at once where that is certain.
   * @default Infinity
   */
  readonly maxWait?: Duration
  /** Gives the place in the line up, and what was taken back. The call rejects with the signal's reason. */
  readonly signal?: Signal
}

/** What came of a scheduled function: it ran, or there was no turn for it. */
export type Scheduled<Value, Tier extends string = string> =
  | { readonly ran: true; readonly value: Value; readonly decision: Decision<Tier> }
  | { readonly ran: false; readonly value: undefined; readonly decision: Decision<Tier> }
