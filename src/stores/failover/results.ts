import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'

/** When to try again where only the store could tell. */
const RETRY_MS = 1_000

/** What passes because no store counts. */
export function allowed(rule: Rule): LimitResult {
  return {
    allowed: true,
    remaining: rule.limit,
    retryAfterMs: 0,
    resetAfterMs: 0,
    delayMs: 0,
    reason: undefined,
    nextAfterMs: 0,
    blockedMs: undefined,
    decidedBy: 'fallback',
    rule,
  }
}

/** What does not pass because no store can count. What ends a reservation is no request to pass. */
export function refused({ type }: Operation, rule: Rule): LimitResult {
  const isEnding = type === 'settle' || type === 'extend'
  return {
    allowed: isEnding,
    remaining: 0,
    retryAfterMs: isEnding ? 0 : RETRY_MS,
    resetAfterMs: RETRY_MS,
    delayMs: 0,
    reason: isEnding ? undefined : 'store-unavailable',
    nextAfterMs: isEnding ? RETRY_MS : undefined,
    blockedMs: undefined,
    decidedBy: 'fallback',
    rule,
  }
}

/** A result by a share of the operation's rule. What the share can never let pass may pass when the store is back. */
export function inShare(result: LimitResult, { amount, rule }: Operation, share: Rule): LimitResult {
  const { allowed, remaining, resetAfterMs, delayMs, nextAfterMs, blockedMs } = result
  const isOnlyHere = result.reason === 'cost-exceeds-limit' && amount <= rule.limit
  const retryAfterMs = isOnlyHere ? RETRY_MS : result.retryAfterMs
  const reason = isOnlyHere ? 'store-unavailable' : result.reason
  const numbers = { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs, blockedMs }
  return { ...numbers, decidedBy: 'fallback', rule: share }
}
