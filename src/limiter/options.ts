import { invalidOption, trueOrFalse } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { type Duration, readDuration } from '../core/duration.ts'
import type { Subject } from '../core/key.ts'
import { ON_STORE_FAILURE, type OnStoreFailure } from '../core/limit.ts'
import { type Check, choice, functionThat, optional, whole } from '../core/read-options.ts'
import type { Rule } from '../core/rule.ts'
import type { Signal } from '../core/signal.ts'
import type { Store } from '../core/store.ts'
import type { ResolveRule } from './rule-resolver.ts'

/** Options of every limiter. */
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
   * How long the `idempotencyKey` of an admitted request is remembered, 1 ms to 10 years.
   * @default '1m'
   */
  readonly idempotencyTtl?: Duration
  /**
   * How many may wait for one key in this process, at least 1. One more is rejected with the reason `queue-full`.
   * @default 1_000
   */
  readonly maxQueue?: number
  /**
   * How long a rule from `resolveRule` is used before it is resolved again, 1 ms to 10 years.
   * @default '10s'
   */
  readonly ruleCache?: Duration
  /**
   * For how many subjects the rules from `resolveRule` are kept, at least 1.
   * @default 10_000
   */
  readonly ruleCacheSize?: number
  /**
   * How long a key that a shared store rejected is rejected from memory: until its `retryAfterMs`, but no longer than this. So late
   * does this process notice what another one does to the key. `false` asks the store every time.
   * @default '1s'
   */
  readonly denialCache?: Duration | false
  /**
   * The share of a limit at which the event `nearLimit` fires, because it is nearly used up, above 0 and at most 1.
   * @default 0.8
   */
  readonly nearLimitAt?: number
  /**
   * Takes a part of a hot key's quota from a shared store ahead of time, and decides from it without a call. No request passes that the
   * rule would reject. What other processes do to the key counts here later: after `maxTime` and one round trip at most.
   * @default false
   */
  readonly prefetch?: boolean | PrefetchOptions
}

/** How much of a hot key's quota a process takes ahead of time, and for how long. */
export interface PrefetchOptions {
  /**
   * How long the process uses it after it has arrived, 10 ms to 10 s. Then it gives back what is left.
   * @default '100ms'
   */
  readonly maxTime?: Duration
  /**
   * The share of a limit that may lie unused in all processes together at full load, about: above 0 and at most 0.5.
   * @default 0.01
   */
  readonly maxShare?: number
}

// No value has these two types: they choose the words of the compiler. Where a type of a union is a list, it explains what an object lacks,
// `{}` too, by the first type that is none: the one that is declared first or, in TypeScript 7, whose name is first.
interface EitherRuleOrTiers extends CommonOptions {
  readonly rule: never
  readonly tiers: never
  readonly hashTag?: undefined
}

interface NoList extends ReadonlyArray<never>, CommonOptions {
  readonly rule: never
  readonly tiers: never
  readonly hashTag?: undefined
}

/** Options of a limiter of one rule. */
export interface LimiterOptions extends CommonOptions, LimitOptions {
  readonly tiers?: undefined
  readonly hashTag?: undefined
}

/** Options of a limiter of tiers. */
export interface TiersOptions<TierName extends string = string> extends CommonOptions {
  /** The limits by their names, all of which have to agree: rules, or rules with what to do beyond them. */
  readonly tiers: Readonly<Record<TierName, Rule | LimitOptions>>
  /**
   * On a Cluster, puts all tiers' keys of one subject into one slot, so that they are decided by one script. Keys of different
   * subjects still live apart.
   * @default false
   */
  readonly hashTag?: boolean
  readonly rule?: undefined
  readonly shadow?: undefined
  readonly blockFor?: undefined
  readonly resolveRule?: undefined
}

/** What `createLimiter` takes: a `rule`, or `tiers`. */
export type RuleOrTiers<TierName extends string = string> =
  | EitherRuleOrTiers
  | LimiterOptions
  | TiersOptions<TierName>
  | NoList

/** Options of one limit: its rule, and more. */
export interface LimitOptions {
  /** How much may pass: `slidingWindow()`, `tokenBucket()` or another rule. */
  readonly rule: Rule
  /**
   * Counts and reports, in `wouldRefuse`, but never rejects.
   * @default false
   */
  readonly shadow?: boolean
  /**
   * Blocks a key for this long when this limit rejects it, 1 ms to 10 years. Retries do not make it longer.
   * @default no block
   */
  readonly blockFor?: Duration
  /**
   * Another rule for some subjects, of the same kind as `rule` and with other numbers: asked while running, so that limits
   * change without a deployment. `undefined` means `rule`.
   */
  readonly resolveRule?: ResolveRule
  /**
   * What to do for this limit when the store does not answer.
   * @default that of the limiter
   */
  readonly onStoreFailure?: OnStoreFailure
  /**
   * Decides hot keys of this limit from quota that was taken ahead of time. `false` where only other tiers do.
   * @default that of the limiter
   */
  readonly prefetch?: boolean | PrefetchOptions
}

/** Options for a store that does not answer. */
export interface FailureOptions {
  /**
   * How long a decision waits for the store, 1 ms to 10 years. After that `onStoreFailure` decides.
   * @default '500ms'
   */
  readonly timeout?: Duration
  /**
   * What to do when the store does not answer. `'fallback'`: decide here, by the same rule with this instance's share. `'allow'`:
   * let it pass, uncounted. `'refuse'`: reject it with the reason `store-unavailable`. `'throw'`: throw the error.
   * @default 'fallback'
   */
  readonly onStoreFailure?: OnStoreFailure
  /**
   * Among how many instances a limit is shared while each of them decides without the store, 1 to 1,000,000.
   * @default counted on the store: the most instances within the last 30 seconds that it answered; 1 where it was never there
   */
  readonly instances?: number
}

/**
 * The subject of a decision, or a subject for each tier. For a limiter of tiers: one subject for all of them, or a subject for each
 * tier by its name; a tier that is left out or `undefined` takes no part.
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
   * the first decision and is not counted again. A rejection is not remembered: nothing was counted, and the request may try again.
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
   * Whether the block replaces an earlier one that ends later.
   * @default false
   */
  readonly replace?: boolean
}

/** Options of `wait` and `schedule`. */
export interface WaitOptions<Tier extends string = never> extends CostOptions<Tier> {
  /**
   * The longest wait; 0 does not wait. A call that cannot pass in time is rejected, at once where that is certain.
   * @default Infinity
   */
  readonly maxWait?: Duration
  /** Ends the wait, and refunds what was taken. The call rejects with the signal's reason. */
  readonly signal?: Signal
}

/** The result of `schedule`: the function ran, or there was no turn for it. */
export type Scheduled<Value, Tier extends string = string> =
  | { readonly ran: true; readonly value: Value; readonly decision: Decision<Tier> }
  | { readonly ran: false; readonly value: undefined; readonly decision: Decision<Tier> }

/** Makes a check for an object with the method that makes it a rule, a store or a clock, which `rule` describes. */
export function objectWith<Found>(method: string, rule: string): Check<Found> {
  return (what, value) => {
    const given = value as Readonly<Record<string, unknown>> | null | undefined
    if (typeof given === 'object' && given !== null && typeof given[method] === 'function') return value as Found
    throw invalidOption(what, rule, value)
  }
}

/** Checks that a value is a rule. */
export const checkRule: Check<Rule> = objectWith('step', "a rule such as slidingWindow({ limit: 100, window: '1m' })")

/** Checks that a value is a clock. */
export const checkClock: Check<Clock> = objectWith('nowMs', 'an object with nowMs()')

/** Checks what to do when the store gives no answer. */
export const checkFailure: Check<OnStoreFailure> = choice(ON_STORE_FAILURE)

/** The checks of the options about a store that does not answer. */
export const FAILURE_OPTIONS: {
  readonly timeout: Check<number>
  readonly onStoreFailure: Check<OnStoreFailure>
  readonly instances: Check<number | undefined>
} = {
  timeout: optional(readDuration, 500),
  onStoreFailure: optional(checkFailure, 'fallback'),
  instances: optional(whole(1, 1_000_000)),
}

/** The checks of what else a limit has, besides its rule. */
export const LIMIT_OPTIONS: {
  readonly shadow: Check<boolean>
  readonly blockFor: Check<number>
  readonly resolveRule: Check<ResolveRule | undefined>
} = {
  shadow: optional(trueOrFalse, false),
  blockFor: optional(readDuration, 0),
  resolveRule: optional(functionThat<ResolveRule>('a function of the subject')),
}

/** Reads the milliseconds for which refusals are answered from memory; 0 never. */
export const readDenialCache: Check<number> = (what, value = 1_000) => (value === false ? 0 : readDuration(what, value))

/** Checks a share of a limit. */
export const readShare: Check<number> = (what, value) => {
  if (typeof value === 'number' && value > 0 && value <= 1) return value
  throw invalidOption(what, 'a number above 0 and at most 1', value)
}
