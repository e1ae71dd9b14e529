import type { Decision } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'

/** What is known of one key by one policy. */
export interface Inspection {
  readonly policy: string
  /** The key as people write it. */
  readonly key: string
  readonly cost: number
  /** Where it was looked for: a Redis or a service. */
  readonly place: string
  /** When, by the clock of the server. */
  readonly atMs: number
  /** What a request would get now. Nothing was taken. */
  readonly decision: Decision
  readonly limits: readonly InspectedLimit[]
}

/** One limit of it. */
export interface InspectedLimit {
  readonly name: string
  readonly kind: string
  readonly limit: number
  readonly parameters: Rule['parameters']
  readonly isShadow: boolean
  /** What Redis has. Absent when a service was asked, which keeps that to itself. */
  readonly stored?: StoredKey
}

/** What Redis keeps of a key for one limit. Times are milliseconds since 1970. */
export interface StoredKey {
  /** What the key is called there. */
  readonly name: string
  /** `string`, or `none` when there is no such key: nothing is counted. */
  readonly type: string
  readonly ttlMs: number | null
  /** How much memory it takes. `null` where the server does not say. */
  readonly bytes: number | null
  /** The numbers of the rule. `null` when nothing is counted. */
  readonly state: Readonly<Record<string, number | readonly number[]>> | null
  /** How much more was charged than the limit allows. */
  readonly debt: number
  readonly blockedUntilMs: number | null
  /** What callers have reserved, and when it comes back without a settlement. */
  readonly holds: readonly { readonly amount: number; readonly takenMs: number; readonly untilMs: number }[]
  /** What processes have prefetched, and until when they may spend it. */
  readonly grants: readonly { readonly amount: number; readonly endMs: number }[]
}
