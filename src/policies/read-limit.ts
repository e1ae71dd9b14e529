import { show } from '../core/check.ts'
import { ON_STORE_FAILURE } from '../core/limit.ts'
import { didYouMean } from '../core/nearest-name.ts'
import type { Rule } from '../core/rule.ts'
import type { LimitOptions } from '../limiter/options.ts'
import { assertPrefetches, readPrefetch } from '../limiter/prefetch-option.ts'
import * as exportedForms from '../rules/forms.ts'
import type { RuleForm } from '../rules/rule-form.ts'
import {
  choiceField,
  durationField,
  type Field,
  readFields,
  readPlain,
  refuseUnknown,
  requireText,
  switchField,
} from './read-fields.ts'
import { listRuleFields } from './rule-fields.ts'
import type { MappingEntry, MappingNode, ReportProblem } from './source-node.ts'

/** The forms of all rules, by name: bundlers keep the order of exports differently. */
export const FORMS: readonly RuleForm[] = Object.values(exportedForms).sort((one, other) =>
  one.name < other.name ? -1 : 1,
)

/** Whether quota is taken ahead of time. */
export const PREFETCH_FIELD: Field = {
  name: 'prefetch',
  about: 'decides hot keys from quota that was taken ahead of time: true, false or { maxTime, maxShare }',
  schema: {
    anyOf: [
      { type: 'boolean' },
      {
        type: 'object',
        properties: {
          maxTime: { ...durationField('', '').schema, description: 'how long it is used, 10ms to 10s' },
          maxShare: { type: 'number', exclusiveMinimum: 0, maximum: 0.5, description: 'the share of the limit' },
        },
        additionalProperties: false,
      },
    ],
  },
  check(name, value) {
    readPrefetch(name, value)
    const { maxTime } = value as { readonly maxTime?: unknown }
    if (maxTime !== undefined) requireText('maxTime', maxTime)
    return value
  },
}

/** Options of a limit beside its rule. */
export const LIMIT_FIELDS: readonly Field[] = [
  switchField('shadow', 'counts and reports, but never refuses'),
  durationField('blockFor', 'how long a key is blocked after the limit has refused it'),
  choiceField('onStoreFailure', 'what the limit decides when the store does not answer', ON_STORE_FAILURE),
  PREFETCH_FIELD,
]

/** A map that says a limit, and what it is called in messages. */
export interface LimitText {
  readonly what: string
  /** Where its name stands. */
  readonly at: number
  readonly map: MappingNode
}

/**
 * Reads a limit: a rule by its name with its numbers, and what to do beyond it. `undefined` when the rule cannot be made.
 *
 * @param others what may be said in the same place.
 */
export function readLimit(
  text: LimitText,
  others: readonly Field[],
  reportProblem: ReportProblem,
): LimitOptions | undefined {
  const settings = [...LIMIT_FIELDS, ...others]
  const options = readFields(text.map, settings, reportProblem)
  const form = readForm(text, reportProblem)
  if (form === undefined) return undefined
  const fields = listRuleFields(form)
  const names = ['rule', ...[...fields, ...settings].map(({ name }) => name)]
  refuseUnknown(`${text.what} by the rule ${form.name}`, text.map, names, reportProblem)
  const rule = readRule(form, fields, text, reportProblem)
  if (rule !== undefined && options.prefetch) reportUnfit(rule, text.map, reportProblem)
  return rule && { rule, ...options }
}

function reportUnfit(rule: Rule, { entries }: MappingNode, reportProblem: ReportProblem): void {
  try {
    assertPrefetches(rule)
  } catch (error) {
    reportProblem((entries.get(PREFETCH_FIELD.name) as MappingEntry).value.at, (error as Error).message)
  }
}

function readForm({ what, at, map }: LimitText, reportProblem: ReportProblem): RuleForm | undefined {
  const given = map.entries.get('rule')
  const names = FORMS.map(({ name }) => name)
  if (given === undefined) {
    reportProblem(at, `${what} needs a rule: ${names.join(', ')}`)
    return undefined
  }
  const value = readPlain(given.value)
  const form = FORMS.find(({ name }) => name === value)
  if (form !== undefined) return form
  const hint = typeof value === 'string' ? didYouMean(value, names) : ''
  reportProblem(given.value.at, `rule must be one of ${names.join(', ')}, got ${show(value)}${hint}`)
  return undefined
}

function readRule(
  form: RuleForm,
  fields: readonly Field[],
  text: LimitText,
  reportProblem: ReportProblem,
): Rule | undefined {
  const { at, map } = text
  let isGood = true
  const note: ReportProblem = (where, reason) => {
    isGood = false
    reportProblem(where, reason)
  }
  for (const field of form.fields) {
    if (field.example === undefined || map.entries.has(field.name)) continue
    note(at, `${form.name} needs ${field.name}, ${field.about}, such as ${field.name}: ${field.example}`)
  }
  const options = readFields(map, fields, note)
  if (!isGood) return undefined
  try {
    return form.make(options)
  } catch (error) {
    const { message } = error as Error
    const field = fields.find(({ name }) => message.startsWith(name))
    const entry = field && map.entries.get(field.name)
    reportProblem(entry?.value.at ?? at, message)
    return undefined
  }
}
