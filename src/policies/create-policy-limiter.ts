import type { Clock } from '../core/clock.ts'
import type { Store } from '../core/store.ts'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { TiersOptions } from '../limiter/options.ts'
import type { TieredLimiter } from '../limiter/tiered-limiter.ts'
import type { Policy } from './read-policies.ts'

/** Makes the limiter of a policy. */
export function createPolicyLimiter(
  { options }: Policy,
  surroundings: { readonly store?: Store; readonly clock?: Clock } = {},
): TieredLimiter {
  // Both kinds of options are taken; the overloads only say which tiers there are.
  return createLimiter({ ...options, ...surroundings } as TiersOptions) as TieredLimiter
}
