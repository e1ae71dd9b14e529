import { show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Store } from '../../core/store.ts'
import { createClear, createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { LimiterOptions } from '../../limiter/options.ts'
import { createRule, type DropInSettings, failOpen, firstHitWindow, UNREACHED } from './drop-in-options.ts'

/** The settings that the other library passes to its store before the first request. */
export interface HitStoreInit {
  /** A function when the limit depends on the request: the store then counts every hit, and the library decides. */
  readonly limit?: number | ((...given: never[]) => unknown)
  /** The name of `limit` before express-rate-limit 7. */
  readonly max?: HitStoreInit['limit']
  /** Length of the window in milliseconds. */
  readonly windowMs: number
  /** Whether the library refunds failed requests. */
  readonly skipFailedRequests?: boolean
  /** Whether the library refunds successful requests. */
  readonly skipSuccessfulRequests?: boolean
  /** Whether the library lets a request pass when the store fails. */
  readonly passOnStoreError?: boolean
}

/** The limiter behind a store, and the limit that it decides by. */
export interface HitLimiter {
  readonly limiter: Limiter
  readonly limit: number
  /** Forgets all clients. Absent where the store cannot. */
  readonly clear: (() => Promise<void>) | undefined
}

/** Makes the limiter for the settings of the other library. Limits and windows that differ have keys of their own. */
export function createHitLimiter(settings: DropInSettings, init: HitStoreInit): HitLimiter {
  const { windowMs, passOnStoreError } = init
  const limit = (init.limit ?? init.max) as number | (() => unknown)
  const { name, common } = passOnStoreError === true ? failOpen(settings) : settings
  if (typeof limit === 'function' || limit === 0) {
    if (typeof limit === 'function' && settings.rule !== undefined) {
      const message = 'limit must be a number with the option rule: a store cannot see what a function returns'
      throw new LimiterError('INVALID_OPTION', `${message}, got ${show(limit)}`)
    }
    const rule = firstHitWindow(UNREACHED, windowMs)
    return openLimiter(settings.store, { name: `${name}/any/${windowMs}`, rule, ...common }, UNREACHED)
  }
  const rule = createRule(settings, limit, windowMs)
  return openLimiter(settings.store, { name: `${name}/${limit}/${windowMs}`, rule, ...common }, limit)
}

function openLimiter(store: Store, options: LimiterOptions, limit: number): HitLimiter {
  return { limiter: createLimiter(options), limit, clear: createClear(store, options.name, options.rule) }
}
