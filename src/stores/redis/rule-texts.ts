import { LimiterError } from '../../core/limiter-error.ts'
import type { Rule } from '../../core/rule.ts'
import type { Script } from './script-catalog.ts'

/** A rule as the scripts take it. */
export interface RuleTexts {
  /** Its parameters, for its own script. */
  readonly hot: readonly string[]
  /** Its name and all its parameters, for the full script. */
  readonly full: readonly string[]
}

/** Encodes a rule for the scripts. */
export function encodeRule(rule: Rule, { parameters }: Script): RuleTexts {
  const hot = parameters.map((name) => encodeParameter(rule, name))
  return { hot, full: [rule.kind, ...Object.values(rule.parameters).map((value) => `${value}`)] }
}

function encodeParameter(rule: Rule, name: string): string {
  const value = rule.parameters[name]
  if (value !== undefined) return `${value}`
  throw new LimiterError('INVALID_OPTION', `the rule ${rule.kind} has no parameter ${name}, which its script takes`)
}
