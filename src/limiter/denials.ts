import type { Verdict } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import type { Asked } from './desk.ts'

type Consume = Extract<Asked['request'], { action: 'consume' }>

/** What some tiers are known to refuse, without asking. */
export interface Denied {
  readonly places: readonly number[]
  readonly verdicts: readonly Verdict[]
}

/**
 * Which of the tiers are known to refuse what is to be consumed. Nothing when the store has to be asked after all: when none is, or when a refusal would
 * block the key of another one.
 */
export function findDenied(asked: readonly Asked[], rules: readonly Rule[], nowMs: number): Denied | undefined {
  const places: number[] = []
  const verdicts: Verdict[] = []
  for (let place = 0; place < asked.length; place++) {
    const { tier, key, request } = asked[place] as Asked
    const { amount } = request as Consume
    const verdict = tier.denials?.find(key, amount, rules[place] as Rule, nowMs)
    if (verdict !== undefined) {
      places.push(place)
      verdicts.push(verdict)
    } else if (tier.blockForMs !== undefined) return undefined
  }
  return places.length === 0 ? undefined : { places, verdicts }
}

/** Remembers which tiers have refused, and forgets what no longer holds after an answer: what was given back may be taken again. */
export function noteAnswer(
  asked: readonly Asked[],
  rules: readonly Rule[],
  verdicts: readonly Verdict[],
  askedMs: number,
  answeredMs: number,
): void {
  for (let place = 0; place < asked.length; place++) {
    const { tier, key, request } = asked[place] as Asked
    const verdict = verdicts[place] as Verdict
    if (request.action === 'consume' && !verdict.allowed) {
      tier.denials?.note(key, request.amount, rules[place] as Rule, verdict, askedMs, answeredMs)
    } else if (FREEING.has(request.action)) tier.denials?.forget(key)
  }
}

/** Forgets what will not hold once the store has done what it is asked. */
export function forgetFreed(asked: readonly Asked[]): void {
  for (const { tier, key, request } of asked) if (FREEING.has(request.action)) tier.denials?.forget(key)
}

const FREEING: ReadonlySet<string> = new Set<Asked['request']['action']>(['giveBack', 'settle', 'unblock', 'reset'])
