import type { Decision, TierVerdict } from '../../core/decision.ts'

/**
 * A decision as JSON has it: always the same fields, `null` where there is nothing to say. `retryAfterMs` is `null` when the request can
 * never pass; `nextAfterMs` is there only when it was asked for.
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

function verdictJson(verdict: TierVerdict): Told {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs } = verdict
  // A time without end is no number of JSON's, and becomes null.
  const told: Told = { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason: reason ?? null }
  if (nextAfterMs !== undefined) told.nextAfterMs = nextAfterMs
  return told
}

function tiersJson(tiers: Decision['tiers']): object {
  const told: Told = {}
  for (const name in tiers) {
    // A tier may have any name, also one that objects have already.
    Object.defineProperty(told, name, { value: verdictJson(tiers[name] as TierVerdict), enumerable: true })
  }
  return told
}
