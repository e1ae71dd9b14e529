import { invalidOption, milliseconds, oneOf, trueOrFalse, wholeNumber } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import type { Subject } from '../core/key.ts'
import { ON_STORE_FAILURE, type OnStoreFailure } from '../core/limit.ts'
import type { Rule } from '../core/rule.ts'
import type { Signal } from '../core/signal.ts'
import type { Store } from '../core/store.ts'
import type { Policy } from './rule-resolver.ts'

/** What every limiter may be told. */
export interface CommonOptions extends FailureOptions {
  /** Names the limiter in keys, decisions and events, 1 to 100 characters. Limiters of one name on one store share their keys. */
  readonly name: string
  /**
   * Where the state is kept.
   * @default a memory store of its own
   */
  readonly store?: Store
  /**
   * Where the time comes from.
   * @default the store's own time
   */
  readonly clock?: Clock
  /**
   * How long the `id` of an admitted request is remembered, 1 ms to 10 years.
   * @default 60_000
   */
  readonly idMs?: number
  /**
   * How many may wait for one key in this process, at least 1. One more is refused with the reason `queue-full`.
   * @default 1_000
   */
  readonly maxWaiting?: number
  /**
   * How long what a `policy` said is used before it is asked again, 1 ms to 10 years.
   * @default 10_000
   */
  readonly policyCacheMs?: number
  /**
   * For how many subjects what a `policy` said is kept, at least 1.
   * @default 10_000
   */
  readonly policyCacheSize?: number
  /**
   * A key that a shared store refused is refused here until it passes again by the store's own `retryAfterMs`, but no longer than so
   * many milliseconds: that is how late this process notices what another one does to the key. 0 asks every time.
   * @default 1_000
   */
  readonly denialCacheMs?: number
  /**
   * The share of a limit at which the event `nearLimit` tells that it is nearly used up, above 0 and at most 1.
   * @default 0.8
   */
  readonly nearLimitAt?: number
}

/** Options of a limiter of one rule. */
export interface LimiterOptions extends CommonOptions, LimitOptions {}

/** Options of a limiter of tiers. */
export interface TiersOptions<TierName extends string = string> extends CommonOptions {
  /** The limits by their names, all of which have to agree: rules, or rules with what to do beyond them. */
  readonly tiers: Readonly<Record<TierName, Rule | LimitOptions>>
  /**
   * On a Cluster, puts all tiers' keys of one subject into one slot, so that they are decided by one script. Keys of different
   * subjects still live apart.
   * @default false
   */
  readonly sharedTag?: boolean
}

/** A limit: a rule, and what to do beyond it. */
export interface LimitOptions {
  /** How much may pass: `slidingWindow()`, `tokenBucket()` or another rule. */
  readonly rule: Rule
  /**
   * Counts and reports, in `wouldRefuse`, but never refuses.
   * @default false
   */
  readonly shadow?: boolean
  /**
   * Blocks a key for so long when this limit refuses it, 1 ms to 10 years. Trying again meanwhile does not make it longer.
   * @default no block
   */
  readonly blockForMs?: number
  /**
   * Another rule for some subjects, of the same kind as `rule` and with other numbers: asked while running, so that limits
   * change without a deployment. `undefined` means `rule`.
   */
  readonly policy?: Policy
  /**
   * What to do for this limit when the store gives no answer.
   * @default that of the limiter
   */
  readonly onStoreFailure?: OnStoreFailure
}

/** What to do about a store that does not answer. */
export interface FailureOptions {
  /**
   * How long a decision waits for the store, 1 ms to 10 years: after that it is made without it, as `onStoreFailure` says.
   * @default 500
   */
  readonly deadlineMs?: number
  /**
   * What to do when the store gives no answer. `'fallback'`: decide here, by the same rule with this instance's share. `'allow'`: let
   * it pass, uncounted. `'refuse'`: refuse it with the reason `store-unavailable`. `'throw'`: reject with the error.
   * @default 'fallback'
   */
  readonly onStoreFailure?: OnStoreFailure
  /**
   * Among how many instances a limit is shared while each of them decides without the store, 1 to 1,000,000.
   * @default counted on the store: the most that asked it for a decision within 30 seconds of late; 1 where it was never there
   */
  readonly instances?: number
}

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
   * Names the request, up to 200 characters: sent again with the same key and id within `idMs`, it is answered with the first
   * decision and not counted again. A refusal is not remembered: nothing was counted, and it may try again.
   */
  readonly id?: string
}

/** Options of `reserve`. */
export interface ReserveOptions<Tier extends string = never> {
  /** How much it may take, whole numbers of at least 1. A tier that is not named takes 1. */
  readonly estimate: Amounts<Tier>
  /**
   * When the hold goes back by itself if nobody settles it, 1 ms to 10 years: longer than the work may take. Places of a
   * `concurrency()` rule go back after its `leaseMs`.
   * @default 60_000
   */
  readonly holdMs?: number
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
   * Whether the block ends after `blockMs` also when an earlier one ends later.
   * @default false
   */
  readonly replace?: boolean
}

/** Options of `wait` and `schedule`. */
export interface WaitOptions<Tier extends string = never> extends CostOptions<Tier> {
  /**
   * The longest to wait, in milliseconds. What cannot pass by then is refused, at once where that is certain.
   * @default Infinity
   */
  readonly maxWaitMs?: number
  /** Gives the place in the line up, and what was taken back. The call rejects with the signal's reason. */
  readonly signal?: Signal
}

/** What came of a scheduled function: it ran, or there was no turn for it. */
export type Scheduled<Value, Tier extends string = string> =
  | { readonly ran: true; readonly value: Value; readonly decision: Decision<Tier> }
  | { readonly ran: false; readonly value: undefined; readonly decision: Decision<Tier> }

const METHODS = { rule: 'step', store: 'decide', clock: 'nowMs' } as const

/** Throws unless `value` is an object with the method that makes it a rule, a store or a clock. */
export function assertMethod(what: string, kind: keyof typeof METHODS, example: string, value: unknown): void {
  const given = value as Record<string, unknown> | null | undefined
  if (typeof given === 'object' && given !== null && typeof given[METHODS[kind]] === 'function') return
  throw invalidOption(what, example, value)
}

/** Checks a limit's options and returns them. */
export function checkLimit(what: string, limit: LimitOptions): LimitOptions {
  const { rule, shadow, blockForMs, policy, onStoreFailure } = limit
  assertMethod(what, 'rule', 'a rule such as slidingWindow({ limit: 100, windowMs: 60_000 })', rule)
  if (shadow !== undefined) trueOrFalse('shadow', shadow)
  if (blockForMs !== undefined) milliseconds('blockForMs', blockForMs)
  if (onStoreFailure !== undefined) oneOf('onStoreFailure', onStoreFailure, ON_STORE_FAILURE)
  if (policy !== undefined && typeof policy !== 'function')
    throw invalidOption('policy', 'a function of the subject', policy)
  return limit
}

/** The names of the options about a store that does not answer. */
export const FAILURE_OPTIONS: readonly (keyof FailureOptions)[] = ['deadlineMs', 'onStoreFailure', 'instances']

/** Checks the options and fills in the defaults. */
export function checkFailureOptions({ deadlineMs = 500, onStoreFailure = 'fallback', instances }: FailureOptions): {
  readonly deadlineMs: number
  readonly onStoreFailure: OnStoreFailure
  readonly instances: number | undefined
} {
  milliseconds('deadlineMs', deadlineMs)
  oneOf('onStoreFailure', onStoreFailure, ON_STORE_FAILURE)
  if (instances !== undefined) wholeNumber('instances', instances, 1, 1_000_000)
  return { deadlineMs, onStoreFailure, instances }
}

/** Checks `nearLimitAt` and fills in its default. */
export function checkShare(share: unknown = 0.8): number {
  if (typeof share === 'number' && share > 0 && share <= 1) return share
  throw invalidOption('nearLimitAt', 'a number above 0 and at most 1', share)
}
