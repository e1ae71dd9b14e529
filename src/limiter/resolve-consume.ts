import type { Decision } from '../core/decision.ts'
import type { Limiter } from './limiter.ts'
import type { ConsumeOptions, Key } from './options.ts'
import { TieredLimiter } from './tiered-limiter.ts'

/** Consumes at once where the store decides at once. */
export type Consume = (key: Key<string>, options?: ConsumeOptions<string>) => Decision | Promise<Decision>

/** Finds the fastest way to consume. A limiter whose `consume` was replaced, such as one with spans around it, keeps that. */
export function resolveConsume(limiter: Limiter<string>): Consume {
  const isOwn = limiter.consume === TieredLimiter.prototype.consume
  return isOwn ? (limiter as TieredLimiter).consumeAtOnce.bind(limiter) : limiter.consume.bind(limiter)
}
