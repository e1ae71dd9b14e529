import type { Decision, Refused, TierResult } from '../../core/decision.ts'
import type { Hit } from './find-hits.ts'

const NOTHING: TierResult = {
  allowed: false,
  limit: 0,
  remaining: 0,
  retryAfterMs: Number.POSITIVE_INFINITY,
  resetAfterMs: 0,
  delayMs: 0,
  reason: 'cost-exceeds-limit',
  nextAfterMs: undefined,
}

/** What there is to say where nothing was counted. */
const UNCOUNTED = {
  allowed: true,
  limit: 0,
  remaining: 0,
  retryAfterMs: 0,
  resetAfterMs: 0,
  delayMs: 0,
  limitedBy: undefined,
  reason: undefined,
  nextAfterMs: 0,
} as const

/** The decision with the limits of 0 in it, about which the store is not asked. `undefined` when there is neither. */
export function applyBans(bans: readonly Hit[], decision: Decision | undefined, store: string): Decision | undefined {
  if (bans.length === 0) return decision
  const tiers = { ...decision?.tiers, ...Object.fromEntries(bans.map(({ rateLimit }) => [rateLimit.path, NOTHING])) }
  const shadows = bans.filter(({ rateLimit }) => rateLimit.shadow).map(({ rateLimit }) => rateLimit.path)
  const wouldRefuse = [...(decision?.wouldRefuse ?? []), ...shadows]
  const before = decision ?? { ...UNCOUNTED, decidedBy: store }
  const enforced = bans.find(({ rateLimit }) => !rateLimit.shadow)
  if (enforced === undefined) return { ...before, wouldRefuse, tiers }
  const { resetAfterMs, decidedBy } = before
  const refusal = { ...NOTHING, resetAfterMs, decidedBy, limitedBy: enforced.rateLimit.path, wouldRefuse, tiers }
  return refusal as Refused
}
