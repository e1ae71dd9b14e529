import { LimiterError } from '../../core/limiter-error.ts'
import type { Rule } from '../../core/rule.ts'
import type { Script } from './script-catalog.ts'

/** The parameters of a rule that its script always takes, and those that it has defaults for. */
export interface RuleTexts {
  readonly required: readonly string[]
  readonly optional: readonly string[]
  /** Those that its hot script takes. */
  readonly hot: readonly string[]
}

/** A rule's parameters as its scripts take them. */
export function ruleTexts(rule: Rule, { required, optional }: Script, hot: Script): RuleTexts {
  const text = (name: string): string => parameter(rule, name)
  return { required: required.map(text), optional: optional.map(text), hot: hot.required.map(text) }
}

function parameter(rule: Rule, name: string): string {
  const value = rule.parameters[name]
  if (value !== undefined) return `${value}`
  throw new LimiterError('INVALID_OPTION', `the rule ${rule.kind} has no parameter ${name}, which its script takes`)
}
