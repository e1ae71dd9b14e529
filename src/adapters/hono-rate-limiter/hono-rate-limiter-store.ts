import type { DropInOptions } from '../drop-in/drop-in-options.ts'
import { HitStore } from '../drop-in/hit-store.ts'

/**
 * A store for hono-rate-limiter that decides by a rule of Sluice, in memory or on Redis. A refused request is not counted.
 * One for each `rateLimiter()`.
 */
export function honoRateLimiterStore(options: DropInOptions = {}): HitStore {
  return new HitStore('honoRateLimiterStore()', 'hono-rate-limiter', options)
}
