import { readDuration } from '../../core/duration.ts'
import type { LimitOptions } from '../../limiter/options.ts'
import type { Policy } from '../../policies/read-policies.ts'
import { listRuleVariants } from '../../simulate/rule-variants.ts'
import type { Contestant } from '../../simulate/simulation.ts'
import { readPoliciesFile } from '../command/policies-file.ts'
import { formatRuleName, parseRule } from '../command/rule-text.ts'
import { UsageError } from '../terminal/command-failure.ts'

/** A rule that takes part, and how it prefetches if its file says so. */
export interface NamedContestant extends Contestant {
  readonly prefetch?: LimitOptions['prefetch']
}

/** Who takes part: the rules that were named and those of a file, or else every rule at 100 a minute. */
export async function readContestants(
  rules: readonly string[],
  policiesFile: string | undefined,
): Promise<readonly NamedContestant[]> {
  const named: readonly NamedContestant[] = rules.map((text) => ({ name: formatRuleName(text), rule: parseRule(text) }))
  const policies = policiesFile === undefined ? [] : await readPoliciesFile(policiesFile)
  const contestants = [...named, ...policies.flatMap(listLimits)]
  const twice = contestants.find(({ name }, index) => contestants.findIndex((other) => other.name === name) < index)
  if (twice !== undefined) throw new UsageError(`the rule "${twice.name}" is given twice. Remove one`)
  if (contestants.length > 0) return contestants
  return listRuleVariants(100, 60_000).filter(({ rule }) => rule.windowMs !== undefined)
}

function listLimits({ name, options }: Policy): NamedContestant[] {
  if (options.tiers === undefined) return [composeContestant(name, options)]
  const { prefetch = false } = options
  // A tier in a file is a limit, never a bare rule.
  return Object.entries(options.tiers).map(([tier, limit]) =>
    composeContestant(`${name}.${tier}`, { prefetch, ...(limit as LimitOptions) }),
  )
}

function composeContestant(name: string, { rule, blockFor, prefetch }: LimitOptions): NamedContestant {
  return { name, rule, blockForMs: blockFor === undefined ? undefined : readDuration('blockFor', blockFor), prefetch }
}
