import { LimiterError } from './limiter-error.ts'
import type { Rule } from './rule.ts'

/** How a limiter decides when the store does not. */
export type OnStoreFailure =
  /** Decide here, by the same rule with this instance's share. */
  | 'fallback'
  /** Let it pass, uncounted. */
  | 'allow'
  /** Refuse it, with the reason `store-unavailable`. */
  | 'refuse'
  /** Reject with what went wrong. */
  | 'throw'

/** The choices, in the order in which the docs name them. */
export const ON_STORE_FAILURE: readonly OnStoreFailure[] = ['fallback', 'allow', 'refuse', 'throw']

/** One limit of a limiter, as stores and layers see it. The limiter makes it once, and the store knows it by its identity. */
export interface Limit {
  /** What decisions and events call it: the tier's name, or the limiter's own when it has no tiers. */
  readonly name: string
  readonly limiter: string
  /** Undefined for a limiter of one rule. */
  readonly tier: string | undefined
  readonly rule: Rule
  /** Counts and reports, never refuses. */
  readonly shadow: boolean
  /** A refusal blocks the key for this long; 0 never. */
  readonly blockMs: number
  /** Whether operations may bring other parameters of the same kind of rule: the state then says by which it was counted. */
  readonly rulesVary: boolean
  /** Whether a subject's keys share a slot of a Cluster. */
  readonly hashTag: boolean
  readonly onStoreFailure: OnStoreFailure
  /** How a process decides hot keys from quota that it takes ahead of time; undefined: it asks every time. */
  readonly prefetch: PrefetchTerms | undefined
}

/** How much quota a process may take ahead of time. */
export interface PrefetchTerms {
  /** How long it is used after it has arrived, at most. */
  readonly maxMs: number
  /** The share of the limit that may lie unspent in processes at full load, about. */
  readonly maxShare: number
}

/** Makes a limit, with defaults for all that is not given. */
export function createLimit(given: Pick<Limit, 'limiter' | 'rule'> & Partial<Limit>): Limit {
  return {
    name: given.tier ?? given.limiter,
    tier: undefined,
    shadow: false,
    blockMs: 0,
    rulesVary: false,
    hashTag: false,
    onStoreFailure: 'fallback',
    prefetch: undefined,
    ...given,
  }
}

/** Throws for a limit that was never registered with the store. */
export function refuseUnregistered({ name }: Limit): never {
  throw new LimiterError(
    'INVALID_ARGUMENT',
    `the limit "${name}" is not registered with this store. Call store.register(limit) first`,
  )
}
