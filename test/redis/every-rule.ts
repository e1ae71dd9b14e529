import type { Rule } from '../../src/core/rule.ts'
import { everyMode, madeBy } from '../rule-registry.ts'
import type { RuleMode } from '../rule-samples.ts'

export { NOON_MS } from '../rule-samples.ts'

/** A rule by the name of its factory, so that it can be sent to another process. */
export interface NamedRule extends Omit<RuleMode, 'options'> {
  /** Options with which exactly `limit` passes within an hour, however the requests lie in that time. */
  options(limit: number): object
}

const DAY_MS = 86_400_000

/** Every rule, and every mode of it that decides differently. */
export const everyRule: readonly NamedRule[] = everyMode.map((mode) => ({
  ...mode,
  options: (limit) => mode.options({ limit, timeMs: DAY_MS, rate: 1, parts: 10 }),
}))

/** The rule itself, for this process. */
export function ruleOf({ factory }: NamedRule, options: object): Rule {
  return madeBy(factory, options)
}
