import { show } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Limiter } from '../../limiter/limiter.ts'

/** How many hits the other library is told of: what is used, or one more than the limit for a refusal. It counts nothing itself. */
export function hitsOf({ allowed, remaining }: Decision, limit: number): number {
  return allowed ? limit - remaining : limit + 1
}

/** The time that the other library is told: until the next hit passes after a refusal, or else until the key is untouched again. */
export function toldMs({ allowed, retryAfterMs, resetAfterMs }: Decision): number {
  return allowed ? resetAfterMs : retryAfterMs
}

/**
 * One subject of a scope and a key. Different ones never give the same, whatever is in them. Numbers become text, as they do
 * in the other libraries; what is neither is no key.
 */
export function subjectOf(key: unknown, ...scope: readonly unknown[]): string {
  const name = typeof key === 'number' || typeof key === 'bigint' ? `${key}` : key
  if (typeof name !== 'string') throw new LimiterError('INVALID_KEY', `a key must be a string, got ${show(key)}`)
  return scope.length === 0 ? name : JSON.stringify([...scope, name])
}

/**
 * Lets the block that a refusal has started end after `blockMs`, and the count start afresh then. Until that is done the block stands
 * as it was, so nothing passes in between.
 */
export async function settleBlock(
  limiter: Limiter,
  subject: string,
  refusal: Decision,
  blockMs: number,
): Promise<Decision> {
  if (refusal.resetAfterMs <= blockMs) return refusal
  // More than any count: the limit may have been higher before.
  const standing = await limiter.giveBack(subject, Number.MAX_SAFE_INTEGER)
  return refusal.retryAfterMs > blockMs ? limiter.block(subject, blockMs, { replace: true }) : standing
}
