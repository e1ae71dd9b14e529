import type { Decision } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'

/** What `GET /v1/live` of the service answers with: recent decisions, keys and outages. Times are whole milliseconds since 1970. */
export interface LiveReport {
  readonly service: {
    readonly version: string
    readonly startedAtMs: number
    readonly nowMs: number
    /** How often the policies were read anew since the start. */
    readonly reloads: number
    /** Why the policies on disk are not in force, if they are not. */
    readonly reloadError: string | null
  }
  readonly store: {
    readonly kind: 'memory' | 'redis'
    /** Where it is, without a password: `127.0.0.1:6379`, or `this process`. */
    readonly place: string
    readonly state: 'healthy' | 'degraded'
    /** For how long it has been so. */
    readonly forMs: number
    readonly error: string | null
  }
  readonly policies: readonly LivePolicy[]
  /** The last ten minutes at most, a second each, oldest first, without gaps; the current second is not among them. */
  readonly seconds: readonly LiveSecond[]
  /** Since when the requests of keys are counted: one to two minutes ago. */
  readonly keysSinceMs: number
  /** The twenty keys at most with most requests, the busiest first. */
  readonly busiest: readonly LiveKey[]
  /** The twenty keys at most with most refusals, the most refused first. */
  readonly mostRefused: readonly LiveKey[]
  /** The last hundred at most, oldest first. */
  readonly outages: readonly { readonly fromMs: number; readonly toMs: number | null; readonly error: string }[]
}

/** A policy and its decisions since the start. */
export interface LivePolicy {
  readonly name: string
  readonly tiers: readonly LiveTier[]
  readonly allowed: number
  readonly refused: number
}

/** A limit of a policy. Of a policy of one rule there is one, of the policy's name. */
export interface LiveTier {
  readonly name: string
  /** As the rule calls itself, such as `token-bucket`. */
  readonly kind: string
  readonly limit: number
  /** The numbers of the rule, such as `windowMs`. */
  readonly parameters: Rule['parameters']
  readonly isShadow: boolean
  /** Whether hot keys are decided from quota that is taken ahead of time. */
  readonly isPrefetched: boolean
  /** How often it was the one that refused or, in shadow mode, would have. */
  readonly refused: number
  /** How often a request came that used up 80 % of it, or what `nearLimitAt` says. */
  readonly near: number
}

/** One second. */
export interface LiveSecond {
  readonly atMs: number
  readonly allowed: number
  readonly refused: number
  /** Requests that a limit in shadow mode would have refused. */
  readonly wouldRefuse: number
  /** Requests by what decided them: the store's name, `denial-cache`, `prefetch`, or `fallback` while the store was away. */
  readonly decidedBy: Readonly<Record<string, number>>
  /** How long decisions took, in milliseconds, at most a fifth too high; `null` when there were none. Waiting for a turn is left out. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  /** By the name of the policy, and within it refusals by the name of the tier. Policies with nothing to tell are left out. */
  readonly byPolicy: Readonly<
    Record<
      string,
      { readonly allowed: number; readonly refused: number; readonly byTier: Readonly<Record<string, number>> }
    >
  >
}

/** A refusal of a key, and why. */
export interface LiveRefusal extends Pick<Decision, 'limit' | 'remaining' | 'retryAfterMs' | 'reason' | 'limitedBy'> {
  readonly atMs: number
}

/** What processes have taken of a key ahead of time by one limit, and may still spend. */
export interface LiveGrants {
  readonly limit: string
  /** How many grants are live. */
  readonly count: number
  /** All that they were given, spent or not. */
  readonly units: number
  /** Until the last of them ends; 0 without one. */
  readonly endsAfterMs: number
}

/** A key and its recent decisions. At most `error` requests are missing, and none is too many. */
export interface LiveKey {
  readonly policy: string
  /** As text: `user:42`, `ip~203.0.113.7` of a kind, or `user=42, ip=203.0.113.7` for a key of several tiers. */
  readonly key: string
  /** Among `mostRefused`: since it was refused first. */
  readonly allowed: number
  readonly refused: number
  readonly error: number
}
