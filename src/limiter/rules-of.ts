import type { Decision } from '../core/decision.ts'
import type { Limit } from '../core/limit.ts'
import type { Rule } from '../core/rule.ts'

type Rules = Readonly<Record<string, Rule>>

// Beside the decisions and not in them: they are plain numbers and words, and can be sent anywhere.
const changed = new WeakMap<Decision, Rules>()

/** Notes which rules a decision was made by, where a policy may have changed them. */
export function noteRules(
  decision: Decision,
  used: readonly { readonly limit: Limit; readonly rule: Rule }[],
): Decision {
  const others = used.filter(({ limit, rule }) => rule !== limit.rule)
  if (others.length > 0) changed.set(decision, Object.fromEntries(others.map(({ limit, rule }) => [limit.name, rule])))
  return decision
}

/** The rules that a policy gave for this decision instead of the limiter's own, by the names of their tiers. */
export function changedRules(decision: Decision): Rules | undefined {
  return changed.get(decision)
}
