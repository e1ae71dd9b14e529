import { show } from '../../core/check.ts'
import type { Decision } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Limiter } from '../../limiter/limiter.ts'

/** Counts the hits for the other library: those in use, or one more than the limit for a refusal. */
export function countHits({ allowed, remaining }: Decision, limit: number): number {
  return allowed ? limit - remaining : limit + 1
}

/** Resolves the time for the other library: until the next hit passes after a refusal, or else until the count is zero. */
export function resolveResetMs({ allowed, retryAfterMs, resetAfterMs }: Decision): number {
  return allowed ? resetAfterMs : retryAfterMs
}

/**
 * Composes one subject of a scope and a key. Two different pairs never give the same subject. Numbers become text, as they do
 * in the other libraries; an empty text or any other value throws.
 */
export function composeSubject(key: unknown, ...scope: readonly unknown[]): string {
  const name = typeof key === 'number' || typeof key === 'bigint' ? `${key}` : key
  if (typeof name !== 'string' || name === '') {
    const message = `the key of a request must be a non-empty string, got ${show(key)}. Without a key all clients would share one count`
    throw new LimiterError('INVALID_KEY', message)
  }
  return scope.length === 0 ? name : JSON.stringify([...scope, name])
}

/**
 * Ends the block that a refusal has started after `blockMs`, and starts the count afresh then. Meanwhile the block stays as it was,
 * so nothing passes in between.
 */
export async function settleBlock(
  limiter: Limiter,
  subject: string,
  refusal: Decision,
  blockMs: number,
): Promise<Decision> {
  if (refusal.resetAfterMs <= blockMs) return refusal
  // More than any count: the limit may have been higher before.
  const standing = await limiter.refund(subject, Number.MAX_SAFE_INTEGER)
  return refusal.retryAfterMs > blockMs ? limiter.block(subject, blockMs, { replace: true }) : standing
}
