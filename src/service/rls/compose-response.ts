import type { LimitResult } from '../../core/decision.ts'
import type { Rule } from '../../core/rule.ts'
import { composeHeaderFields, type Limited } from '../../http/header-fields.ts'
import { roundUpToSeconds } from '../../http/limit-item.ts'
import type { DescriptorStatus, RateLimitResponse } from './messages.ts'
import { LARGEST_COUNT } from './read-rate-limit.ts'
import type { RateLimit } from './rls-config.ts'
import type { Unit } from './units.ts'

/** What the store said of the limit of a descriptor. */
export interface Outcome {
  readonly rateLimit: RateLimit
  /** Absent: the limit does not count, because all pass or none. */
  readonly result: LimitResult | undefined
}

/** Composes the response: a status for each descriptor, and the header fields for the client. */
export function composeResponse(outcomes: readonly (Outcome | undefined)[]): RateLimitResponse {
  const statuses = outcomes.map(composeStatus)
  const isOverLimit = statuses.some((status) => status.isOverLimit)
  const headers = composeHeaderFields(listLimited(outcomes), 'draft-11', 0).map(({ name, value }) => ({ name, value }))
  const retrySeconds = isOverLimit ? resolveRetrySeconds(outcomes) : undefined
  if (retrySeconds !== undefined) headers.push({ name: 'Retry-After', value: `${retrySeconds}` })
  return { isOverLimit, statuses, headers }
}

const NOT_LIMITED: DescriptorStatus = { isOverLimit: false, currentLimit: undefined, remaining: 0, resetSeconds: 0 }
const UNLIMITED: DescriptorStatus = { ...NOT_LIMITED, remaining: LARGEST_COUNT }

function composeStatus(outcome: Outcome | undefined): DescriptorStatus {
  if (outcome === undefined) return NOT_LIMITED
  const { rateLimit, result } = outcome
  if (rateLimit.unlimited) return UNLIMITED
  const unit = rateLimit.unit as Unit
  const { name, requestsPerUnit } = rateLimit
  const currentLimit = { name, requestsPerUnit, unit }
  if (result === undefined) {
    return { isOverLimit: !rateLimit.shadow, currentLimit, remaining: 0, resetSeconds: unit.lengthMs / 1_000 }
  }
  const { allowed, remaining, retryAfterMs, resetAfterMs } = result
  // Envoy cuts fractions of a second off, which would tell clients to come too early.
  const resetMs = allowed || retryAfterMs === Number.POSITIVE_INFINITY ? resetAfterMs : retryAfterMs
  return {
    isOverLimit: !allowed && !rateLimit.shadow,
    currentLimit,
    remaining: Math.min(remaining, LARGEST_COUNT),
    resetSeconds: roundUpToSeconds(resetMs),
  }
}

/** The limits that clients see: those that count and may refuse, each once. */
function listLimited(outcomes: readonly (Outcome | undefined)[]): readonly Limited[] {
  const limited = new Map<LimitResult, Limited>()
  for (const outcome of outcomes) {
    if (outcome?.result === undefined || outcome.rateLimit.shadow) continue
    const { rateLimit, result } = outcome
    const rule = result.rule ?? (rateLimit.rule as Rule)
    limited.set(result, { name: rateLimit.label, rule, verdict: { ...result, limit: rule.limit } })
  }
  return [...limited.values()]
}

/** After how many seconds all limits that refuse let the request pass; `undefined` when one of them never does. */
function resolveRetrySeconds(outcomes: readonly (Outcome | undefined)[]): number | undefined {
  const waits = outcomes
    .filter((outcome) => outcome !== undefined && !outcome.rateLimit.shadow && !outcome.rateLimit.unlimited)
    .map((outcome) => outcome?.result?.retryAfterMs ?? Number.POSITIVE_INFINITY)
  const waitMs = Math.max(...waits)
  return waitMs === Number.POSITIVE_INFINITY ? undefined : roundUpToSeconds(waitMs)
}
