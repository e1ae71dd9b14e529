import { show } from '../core/check.ts'
import type { Decision, TierResult } from '../core/decision.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Amounts } from './call-options.ts'

/** A limit that a request brought near its end. */
export interface Crossing {
  readonly tier: string
  /** What the request took of it. */
  readonly cost: number
  /** The share of the limit that is in use now, at most 1. */
  readonly usedShare: number
}

/** Checks `nearLimitAt`, and says what it is where nobody said. */
export function checkShare(share: unknown = 0.8): number {
  if (typeof share === 'number' && share > 0 && share <= 1) return share
  throw new LimiterError('INVALID_OPTION', `nearLimitAt must be a number above 0 and at most 1, got ${show(share)}`)
}

/** The limits of which an admitted request took the part that makes their used share reach `at`. Nothing is remembered for it. */
export function findCrossings(limiterName: string, decision: Decision, costs: Amounts<string>, at: number): Crossing[] {
  const verdicts: [string, TierResult][] = Object.entries(decision.tiers as Record<string, TierResult>)
  // The one rule of a limiter without tiers, unless it stands in the shadow and has not counted the request.
  if (verdicts.length === 0 && decision.wouldRefuse.length === 0) verdicts.push([limiterName, decision])
  const found: Crossing[] = []
  for (const [tier, { allowed, limit, remaining }] of verdicts) {
    const cost = typeof costs === 'number' ? costs : (costs[tier] ?? 1)
    const used = limit - remaining
    // Divided, not multiplied: 7 of 100 is 0.07, but 0.07 of 100 is more than 7.
    if (allowed && used / limit >= at && (used - cost) / limit < at) found.push({ tier, cost, usedShare: used / limit })
  }
  return found
}
