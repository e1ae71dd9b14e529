import { show } from '../../core/check.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Rule } from '../../core/rule.ts'
import { readPlain } from '../../policies/read-fields.ts'
import { FORMS } from '../../policies/read-limit.ts'
import type { MappingNode, ReportProblem } from '../../policies/source-node.ts'
import type { RuleForm } from '../../rules/rule-form.ts'
import type { Unit } from './units.ts'

/** envoyproxy/ratelimit counts in windows that start by the clock, and so does this rule. */
const DEFAULT_RULE = 'fixed-window'

/** Makes the rule of a limit. What the rule needs and the file leaves out is the number of requests, or the length of the unit. */
export function makeRule(
  form: RuleForm,
  requestsPerUnit: number,
  { lengthMs }: Unit,
  options: Readonly<Record<string, unknown>>,
  at: number,
  reportProblem: ReportProblem,
): Rule | undefined {
  const needed = form.fields.filter(({ example }) => example !== undefined)
  const defaults = needed.map(({ name, kind }) => [name, kind === 'count' ? requestsPerUnit : lengthMs])
  try {
    const rule = form.make({ ...Object.fromEntries(defaults), ...options })
    if (rule.refunds === 'lease') throw new Error(`${form.name} needs a release, which Envoy does not send`)
    if (rule.parameters.mode === 'shape') throw new Error('mode: shape makes requests wait, which Envoy does not do')
    return rule
  } catch (error) {
    reportProblem(at, (error as Error).message)
    return undefined
  }
}

/** Makes the rule of a limit that a request brings. */
export function makeDefaultRule(requestsPerUnit: number, { lengthMs }: Unit): Rule {
  const form = FORMS.find(({ name }) => name === DEFAULT_RULE) as RuleForm
  return form.make({ limit: requestsPerUnit, window: lengthMs })
}

/** Finds the rule that a limit names: fixed-window when it names none. */
export function readForm(map: MappingNode, reportProblem: ReportProblem): RuleForm | undefined {
  const given = map.entries.get('rule')
  const value = given === undefined ? DEFAULT_RULE : readPlain(given.value)
  const form = FORMS.find(({ name }) => name === value)
  if (form !== undefined) return form
  const names = FORMS.map(({ name }) => name)
  const hint = typeof value === 'string' ? didYouMean(value, names) : ''
  reportProblem(given?.value.at as number, `rule must be one of ${names.join(', ')}, got ${show(value)}${hint}`)
  return undefined
}
