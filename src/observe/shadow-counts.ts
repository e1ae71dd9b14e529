/** What a limiter's limits refused or would have refused. Times are whole milliseconds since 1970. */
export interface ShadowReport {
  readonly limiter: string
  readonly fromMs: number
  readonly toMs: number
  readonly requests: number
  readonly refused: number
  readonly tiers: readonly ShadowTier[]
}

/** What one limit refused or, in the shadow, would have refused. */
export interface ShadowTier {
  readonly name: string
  /** As the rule calls itself, such as `token-bucket`. */
  readonly kind: string
  readonly limit: number
  readonly isShadow: boolean
  /** The requests that this limit was asked about. */
  readonly requests: number
  readonly refused: number
  readonly firstMs: number | null
  readonly lastMs: number | null
  /** How many different keys that was about; `null` when they were more than a thousand. */
  readonly refusedKeys: number | null
  /** Those with most of it, the most first. At most `error` of a key's refusals are missing, and none is too many. */
  readonly keys: readonly { readonly key: string; readonly refused: number; readonly error: number }[]
}
