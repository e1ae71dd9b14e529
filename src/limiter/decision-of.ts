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
    nextAfterMs: refused && !ignored ? undefined : nextMsOf(verdict),
    wouldRefuse: ignored && verdict.reason !== 'hold-ended' ? [tier.name] : NOBODY,
    decidedBy,
    tiers: NO_TIERS,
  }
}

/** The decision of a limiter of tiers: theirs put together. */
export function decisionOfTiers(ruled: readonly Ruled[], verdicts: readonly Verdict[], decidedBy: DecidedBy): Decision {
  const tiers: Record<string, TierVerdict> = {}
  let isAnyCounting = false
  let isSettled = false
  for (let place = 0; place < ruled.length; place++) {
    const { tier, rule } = ruled[place] as Ruled
    const verdict = verdicts[place] as Verdict
    tiers[tier.name] = tierVerdict(rule.limit, verdict)
    isAnyCounting ||= !tier.shadow
    // A hold is settled where it counts, even when a place that went with it has come back before.
    isSettled ||= !tier.shadow && verdict.allowed && tier.rule.holds !== 'leased'
  }
  let scarcest = -1
  let longest = -1
  let resetAfterMs = 0
  let delayMs = 0
  let wouldRefuse = NOBODY
  for (let place = 0; place < ruled.length; place++) {
    const { tier } = ruled[place] as Ruled
    const verdict = verdicts[place] as Verdict
    const { allowed, remaining, retryAfterMs, reason } = verdict
    // A hold that a limit in the shadow refused was never there, and is not missed.
    if (tier.shadow && !allowed && reason !== 'hold-ended') wouldRefuse = [...wouldRefuse, tier.name]
    // What only watches says nothing of what the others decide, unless nobody else is there.
    if (tier.shadow && isAnyCounting) continue
    if (scarcest < 0 || remaining < (verdicts[scarcest] as Verdict).remaining) scarcest = place
    resetAfterMs = Math.max(resetAfterMs, verdict.resetAfterMs)
    delayMs = Math.max(delayMs, verdict.delayMs)
    if (tier.shadow || allowed || (isSettled && reason === 'hold-ended')) continue
    if (longest < 0 || retryAfterMs > (verdicts[longest] as Verdict).retryAfterMs) longest = place
  }
  const refusal = longest < 0 ? undefined : (verdicts[longest] as Verdict)
  return {
    allowed: refusal === undefined,
    limit: (ruled[longest < 0 ? scarcest : longest] as Ruled).rule.limit,
    remaining: (verdicts[scarcest] as Verdict).remaining,
    retryAfterMs: refusal?.retryAfterMs ?? 0,
    resetAfterMs,
    delayMs: refusal === undefined ? delayMs : 0,
    limitedBy: ruled[longest]?.tier.name,
    reason: refusal?.reason,
    nextAfterMs: refusal === undefined ? nextMsOf(verdicts[scarcest] as Verdict) : undefined,
    wouldRefuse,
    decidedBy,
    tiers,
  }
}

// A limit that refuses and does not count says when this cost passes, which is no later than when nothing is used any more.
function nextMsOf({ nextAfterMs, retryAfterMs, resetAfterMs }: Verdict): number {
  return nextAfterMs ?? Math.min(retryAfterMs, resetAfterMs)
}

function tierVerdict(limit: number, verdict: Verdict): TierVerdict {
  const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs } = verdict
  return { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs }
}
