import type { TieredLimiter } from '../../limiter/tiered-limiter.ts'

/** A policy and the limiter that decides by it. */
export interface PolicyInForce {
  readonly name: string
  readonly limiter: TieredLimiter
  /** Whether its tiers have names of their own. */
  readonly isTiered: boolean
}

/** The policies that decide at this moment. */
export interface PolicyLookup {
  get(name: string): PolicyInForce | undefined
  all(): readonly PolicyInForce[]
}

/** What routes need of the service. */
export interface ServiceContext {
  readonly policies: PolicyLookup
  /** Takes an error that the service did not expect. */
  onError(error: unknown): void
}
