import { show } from '../core/check.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Limiter } from '../limiter/limiter.ts'

/** Any limiter, of one rule or of tiers, as far as watching it needs. */
export type WatchedLimiter = Pick<Limiter<string>, 'name' | 'rules' | 'shadows' | 'prefetches' | 'health' | 'on'>

/** Throws unless `limiter` is one. */
export function assertLimiter(what: string, limiter: unknown): void {
  if (typeof (limiter as WatchedLimiter | null | undefined)?.on === 'function') return
  throw new LimiterError('INVALID_ARGUMENT', `${what} takes a limiter, got ${show(limiter)}`)
}
