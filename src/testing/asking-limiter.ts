import { createLimiter } from '../limiter/create-limiter.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { LimiterOptions, TiersOptions } from '../limiter/options.ts'

/** Makes a limiter that asks its store every time, and for nothing else: what it says is the store's, and an error is an error. */
export function askingLimiter(options: LimiterOptions): Limiter
export function askingLimiter<TierName extends string>(options: TiersOptions<TierName>): Limiter<TierName>
export function askingLimiter(options: LimiterOptions | TiersOptions): Limiter<string> {
  return createLimiter({
    ...(options as TiersOptions),
    denialCache: false,
    instances: 1,
    onStoreFailure: 'throw',
    timeout: 20_000,
  })
}
