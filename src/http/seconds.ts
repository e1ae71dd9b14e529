import type { TierResult } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'

/** A time in whole seconds, rounded up and at least one: a client that waits so long does not come too early. */
export function wholeSeconds(timeMs: number): number {
  return Math.max(1, Math.ceil(timeMs / 1_000))
}

/**
 * Within how many seconds no more than `remaining` can be used, or until when a refused client has to wait. `undefined` when no
 * time tells: a cost that never passes, or a place that somebody has to release.
 */
export function effectiveWindow(rule: Rule, verdict: TierResult): number | undefined {
  const { allowed, remaining, retryAfterMs, resetAfterMs, nextAfterMs = 0 } = verdict
  if (!allowed) return retryAfterMs === Number.POSITIVE_INFINITY ? undefined : wholeSeconds(retryAfterMs)
  const { windowMs } = rule
  if (windowMs === undefined) return undefined
  switch (rule.comesBack) {
    case 'at-once':
      return wholeSeconds(resetAfterMs === 0 ? windowMs : resetAfterMs)
    case 'steadily':
      // As long as what remains would take to come back: remaining ÷ seconds never invites more than the lasting rate.
      return wholeSeconds((remaining * windowMs) / rule.limit)
    default:
      return wholeSeconds(nextAfterMs === 0 ? windowMs : nextAfterMs)
  }
}
