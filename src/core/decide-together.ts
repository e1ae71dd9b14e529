import { decide } from './decide.ts'
import type { Entry, Ruling } from './entry.ts'
import { isTaking, type Request, watching } from './request.ts'
import type { Rule } from './rule.ts'

/** One key's part in a decision over several. */
export interface Part {
  readonly rule: Rule
  readonly entry: Entry
  readonly request: Request
  /** Whether a refusal of this part is only reported. */
  readonly shadow: boolean
}

/** What a decision over several keys says of each of them, and whether all that count have passed. */
export interface JointRuling {
  readonly allowed: boolean
  readonly rulings: readonly Ruling[]
}

/**
 * Decides over several keys at once: what consumes or holds is taken from all of them or from none. A part that passes when
 * another is refused says so, and takes nothing; a part in the shadow that is refused takes nothing and hinders nobody.
 */
export function decideTogether(parts: readonly Part[], nowMs: number): JointRuling {
  const rulings = parts.map((part) =>
    decide(part.rule, part.entry, part.shadow ? watching(part.request) : part.request, nowMs),
  )
  const allowed = parts.every(
    ({ request, shadow }, index) => shadow || !isTaking(request) || rulings[index]?.allowed === true,
  )
  if (allowed) return { allowed, rulings }
  return {
    allowed,
    rulings: parts.map((part, index) => {
      const ruling = rulings[index] as Ruling
      const { rule, entry, request } = part
      if (request.action !== 'consume' && request.action !== 'hold') return ruling
      return ruling.allowed ? decide(rule, entry, { action: 'peek', amount: request.amount }, nowMs) : ruling
    }),
  }
}
