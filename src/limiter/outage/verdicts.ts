import type { Verdict } from '../../core/decision.ts'
import type { Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'

/** When to try again where only the store could tell. */
const TRY_AGAIN_MS = 1_000

/** What passes because nobody counts. */
export function allowed(limit: number): Verdict {
  return {
    allowed: true,
    remaining: limit,
    retryAfterMs: 0,
    resetAfterMs: 0,
    delayMs: 0,
    reason: undefined,
    nextAfterMs: 0,
  }
}

/** What does not pass because nobody can count. What ends a hold is no request to pass. */
export function refused({ action }: Request): Verdict {
  const isEnding = action === 'settle' || action === 'renew'
  return {
    allowed: isEnding,
    remaining: 0,
    retryAfterMs: isEnding ? 0 : TRY_AGAIN_MS,
    resetAfterMs: TRY_AGAIN_MS,
    delayMs: 0,
    reason: isEnding ? undefined : 'store-unavailable',
    nextAfterMs: isEnding ? TRY_AGAIN_MS : undefined,
  }
}

/** A verdict by a share of the rule. What the share can never let pass may pass when the store is back. */
export function inShare(verdict: Verdict, request: Request, rule: Rule): Verdict {
  if (verdict.reason !== 'cost-exceeds-limit' || !('amount' in request) || request.amount > rule.limit) return verdict
  return { ...verdict, retryAfterMs: TRY_AGAIN_MS, reason: 'store-unavailable' }
}
