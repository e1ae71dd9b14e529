import type { Decision, TierVerdict } from '../../core/decision.ts'

/**
 * A decision as JSON has it: always the same fields, `null` where there is nothing to say. `retryAfterMs` is `null` when the request can
 * never pass; `nextAfterMs` is there only when it was asked for.
 */
export function composeDecisionJson(decision: Decision): object {
  const json: JsonObject = composeVerdictJson(decision)
  json.limitedBy = decision.limitedBy ?? null
  json.wouldRefuse = decision.wouldRefuse
  json.decidedBy = decision.decidedBy
  json.tiers = composeTiersJson(decision.tiers)
  return json
}

// Filled in place: there may be a thousand of them in an answer.
type JsonObject = Record<string, unknown>

function composeVerdictJson(verdict: TierVerdict): JsonObject {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs } = verdict
  // A time without end is no number of JSON's, and becomes null.
  const json: JsonObject = { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason: reason ?? null }
  if (nextAfterMs !== undefined) json.nextAfterMs = nextAfterMs
  return json
}

function composeTiersJson(tiers: Decision['tiers']): object {
  const json: JsonObject = {}
  for (const name in tiers) {
    // A tier may have any name, also one that objects have already.
    Object.defineProperty(json, name, { value: composeVerdictJson(tiers[name] as TierVerdict), enumerable: true })
  }
  return json
}
