import type { DecidedBy, Decision, TierVerdict, Verdict } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import type { Tier } from './tier.ts'

const NO_TIERS: Readonly<Record<string, TierVerdict>> = Object.freeze({})
const NOBODY: readonly string[] = Object.freeze([])

/** One tier's part in a decision, and the rule that it was decided by. */
export interface Ruled {
  readonly tier: Tier
  readonly rule: Rule
}

/** The decision of a limiter of one rule. */
export function decisionOfOne(tier: Tier, rule: Rule, verdict: Verdict, decidedBy: DecidedBy): Decision {
  const refused = !verdict.allowed
  const ignored = refused && tier.shadow
  return {
    allowed: verdict.allowed || ignored,
    limit: rule.limit,
    remaining: verdict.remaining,
    retryAfterMs: ignored ? 0 : verdict.retryAfterMs,
    resetAfterMs: verdict.resetAfterMs,
    delayMs: verdict.delayMs,
    limitedBy: refused && !ignored ? tier.name : undefined,
    reason: ignored ? undefined : verdict.reason,
    nextAfterMs: verdict.nextAfterMs,
    wouldRefuse: ignored && verdict.reason !== 'hold-ended' ? [tier.name] : NOBODY,
    decidedBy,
    tiers: NO_TIERS,
  }
}

/** The decision of a limiter of tiers: theirs put together. */
export function decisionOfTiers(ruled: readonly Ruled[], verdicts: readonly Verdict[], decidedBy: DecidedBy): Decision {
  const tiers: Record<string, TierVerdict> = {}
  const parts = ruled.map(({ tier, rule }, index) => ({ tier, limit: rule.limit, ...(verdicts[index] as Verdict) }))
  for (const { tier, ...verdict } of parts) tiers[tier.name] = plain(verdict)
  // What only watches says nothing of what the others decide, unless nobody else is there.
  const counting = parts.filter(({ tier }) => !tier.shadow)
  const spoken = counting.length > 0 ? counting : parts
  // A hold is settled where it counts, even when a place that went with it has come back before.
  const isSettled = counting.some(({ tier, allowed }) => allowed && tier.rule.holds !== 'leased')
  const refusing = counting.filter((part) => !part.allowed && !(isSettled && part.reason === 'hold-ended'))
  const scarcest = spoken.reduce((least, part) => (part.remaining < least.remaining ? part : least))
  const longest = refusing.reduce<(typeof parts)[number] | undefined>(
    (most, part) => (most === undefined || part.retryAfterMs > most.retryAfterMs ? part : most),
    undefined,
  )
  return {
    allowed: longest === undefined,
    limit: (longest ?? scarcest).limit,
    remaining: scarcest.remaining,
    retryAfterMs: longest?.retryAfterMs ?? 0,
    resetAfterMs: Math.max(...spoken.map((part) => part.resetAfterMs)),
    delayMs: longest === undefined ? Math.max(...spoken.map((part) => part.delayMs)) : 0,
    limitedBy: longest?.tier.name,
    reason: longest?.reason,
    nextAfterMs: longest === undefined ? scarcest.nextAfterMs : undefined,
    wouldRefuse: parts.filter(wouldRefuse).map(({ tier }) => tier.name),
    decidedBy,
    tiers,
  }
}

// A hold that a limit in the shadow refused was never there, and is not missed.
function wouldRefuse({ tier, allowed, reason }: Verdict & { readonly tier: Tier }): boolean {
  return tier.shadow && !allowed && reason !== 'hold-ended'
}

function plain(verdict: TierVerdict): TierVerdict {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs } = verdict
  return { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs }
}
