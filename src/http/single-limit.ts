import type { TierResult } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import type { HeaderLine } from './header-lines.ts'
import { available, phraseOf } from './phrase.ts'

/** Tells of the only limit of a limiter, in the lines of `'draft-11'`. */
export type SingleLimit = (verdict: TierResult) => HeaderLine[]

/** The same lines as those of `headerLines`, without what only several limits need: most requests have one. */
export function singleLimit(name: string, rule: Rule): SingleLimit {
  const phrase = phraseOf(name, rule, undefined)
  const policy: HeaderLine = { name: 'RateLimit-Policy', value: phrase.policy, joins: true }
  return (verdict) => [policy, { name: 'RateLimit', value: available(phrase, rule, verdict), joins: true }]
}
