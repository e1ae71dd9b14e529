import type { DropInOptions } from '../drop-in/drop-in-options.ts'
import { HitStore } from '../drop-in/hit-store.ts'

/**
 * A store for express-rate-limit that decides by a rule of Sluice, in memory or on Redis. A refused request is not counted.
 * One for each `rateLimit()`.
 */
export function expressRateLimitStore(options: DropInOptions = {}): HitStore {
  return new HitStore('expressRateLimitStore()', 'express-rate-limit', options)
}
