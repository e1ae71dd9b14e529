import type { Decision, TierResult } from '../../core/decision.ts'

/**
 * A decision as JSON has it: always the same fields, `null` where there is nothing to say. `retryAfterMs` is `null` when the request can
 * never pass.
 */
export function composeDecisionJson(decision: Decision): object {
  const told: Told = verdictJson(decision)
  told.limitedBy = decision.limitedBy ?? null
  told.wouldRefuse = decision.wouldRefuse
  told.decidedBy = decision.decidedBy
  told.tiers = tiersJson(decision.tiers)
  return told
}

// Filled in place: there may be a thousand of them in an answer.
type Told = Record<string, unknown>

function verdictJson(verdict: TierResult): Told {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason = null, nextAfterMs = null } = verdict
  // A time without end is no number of JSON's, and becomes null.
  return { allowed, limit, remaining, retryAfterMs, resetAfterMs, nextAfterMs, delayMs, reason }
}

function tiersJson(tiers: Decision['tiers']): object {
  const told: Told = {}
  for (const name in tiers) {
    // A tier may have any name, also one that objects have already.
    Object.defineProperty(told, name, { value: verdictJson(tiers[name] as TierResult), enumerable: true })
  }
  return told
}
