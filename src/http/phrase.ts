import type { TierResult } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import { effectiveWindow } from './seconds.ts'
import { fieldInteger, fieldString } from './structured-field.ts'

/** What structured fields say of a limit, as far as it stays the same from request to request. */
export interface Phrase {
  readonly of: string
  readonly unit: string | undefined
  /** An item of `RateLimit-Policy`. */
  readonly policy: string
  /** How an item of `RateLimit` begins, up to the number that remains. */
  readonly start: string
}

const phrases = new WeakMap<Rule, Phrase>()

/** What is said of a limit: put into words once. */
export function phraseOf(name: string, rule: Rule, unit: string | undefined): Phrase {
  const known = phrases.get(rule)
  if (known !== undefined && known.of === name && known.unit === unit) return known
  const words = [fieldString(name), `q=${fieldInteger(rule.limit)}`]
  const seconds = windowSeconds(rule)
  if (seconds !== undefined) words.push(`w=${seconds}`)
  const counted = unit ?? (rule.comesBack === 'on-release' ? 'concurrent-requests' : undefined)
  if (counted !== undefined) words.push(`qu=${fieldString(counted)}`)
  const phrase = { of: name, unit, policy: words.join(';'), start: `${words[0]};r=` }
  phrases.set(rule, phrase)
  return phrase
}

/** An item of `RateLimit`: what is available now. */
export function available({ start }: Phrase, rule: Rule, verdict: TierResult): string {
  const seconds = effectiveWindow(rule, verdict)
  const item = start + fieldInteger(verdict.remaining)
  return seconds === undefined ? item : `${item};t=${fieldInteger(seconds)}`
}

/** The window of a rule. Below a second, or when it is not whole, no number of seconds would be true. */
export function windowSeconds({ windowMs }: Rule): number | undefined {
  return windowMs !== undefined && windowMs % 1_000 === 0 ? windowMs / 1_000 : undefined
}
