import type { TierVerdict } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'

/** Rounds a time up to whole seconds, at least one: a client that waits for it does not retry too early. */
export function roundUpToSeconds(timeMs: number): number {
  return Math.max(1, Math.ceil(timeMs / 1_000))
}

/**
 * The seconds within which a client can use no more than `remaining`, or after which a refused client may retry. `undefined` when
 * there is no such time: for a cost that never passes, for permits that a request has to release, or without `nextAfterMs`.
 */
export function resolveEffectiveWindow(rule: Rule, verdict: TierVerdict): number | undefined {
  const { allowed, remaining, retryAfterMs, resetAfterMs, nextAfterMs } = verdict
  if (!allowed) return retryAfterMs === Number.POSITIVE_INFINITY ? undefined : roundUpToSeconds(retryAfterMs)
  const { windowMs } = rule
  if (windowMs === undefined) return undefined
  switch (rule.comesBack) {
    case 'at-once':
      return roundUpToSeconds(resetAfterMs === 0 ? windowMs : resetAfterMs)
    case 'steadily':
      // The time in which `remaining` would come back: remaining ÷ seconds never invites more than the lasting rate.
      return roundUpToSeconds((remaining * windowMs) / rule.limit)
    default:
      if (nextAfterMs === undefined) return undefined
      return roundUpToSeconds(nextAfterMs === 0 ? windowMs : nextAfterMs)
  }
}
