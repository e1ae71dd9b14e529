import { duration } from '../../src/core/duration.ts'
import type { Rule } from '../../src/core/rule.ts'
import * as forms from '../../src/rules/forms.ts'
import type { RuleField, RuleForm } from '../../src/rules/rule-form.ts'
import { tieredRule } from '../../src/simulate/tiered-rule.ts'

/** A rule as it is being chosen: what people typed for each field, by the field's word. An empty text leaves the field out. */
export interface RuleChoice {
  readonly rule: string
  readonly values: Readonly<Record<string, string>>
  /** Further rules that a request has to pass as well. Never empty, and none of them has tiers. */
  readonly tiers?: readonly RuleChoice[]
}

/** What came of a choice: a rule, or why it is none. */
export type Made = { readonly rule: Rule } | { readonly problem: string }

/** Every rule there is, as a form. A new rule appears here without a change. */
export const RULE_FORMS: readonly RuleForm[] = Object.values(forms)

/** The rules that can be one of several tiers: a rule that counts work in progress cannot here. */
export const TIER_FORMS: readonly RuleForm[] = RULE_FORMS.filter(({ name }) => name !== 'concurrency')

/** The form of a rule's name; `undefined` when there is no such rule. */
export function findForm(name: string): RuleForm | undefined {
  return RULE_FORMS.find((form) => form.name === name)
}

/** A rule with the values that its form suggests. */
export function suggestChoice(form: RuleForm): RuleChoice {
  const values = form.fields
    .filter((field) => field.example !== undefined)
    .map((field) => [field.name, `${field.example}`] as const)
  return { rule: form.name, values: Object.fromEntries(values) }
}

/** The same fields of another rule, as far as it has them: who compares wants the same limit. */
export function changeRule(form: RuleForm, { values, tiers }: RuleChoice): RuleChoice {
  const fresh = suggestChoice(form)
  const kept = Object.entries(values).filter(([word]) => word in fresh.values)
  const choice = { rule: form.name, values: { ...fresh.values, ...Object.fromEntries(kept) } }
  return tiers === undefined || !TIER_FORMS.includes(form) ? choice : { ...choice, tiers }
}

/** The options that a choice stands for, lengths of time still in words. Fields that are left out are absent. */
export function composeOptions(form: RuleForm, { values }: RuleChoice): Record<string, string | number> {
  const options: Record<string, string | number> = {}
  for (const field of form.fields) {
    const text = values[field.name]?.trim() ?? ''
    if (text !== '') options[field.name] = parseValue(field, text)
  }
  return options
}

function parseValue({ kind }: RuleField, text: string): string | number {
  switch (kind) {
    case 'count':
      return Number(text)
    case 'duration':
    case 'choice':
      return text
  }
}

/** Makes the rule by its own factory, which says what is wrong with the options, and its further tiers. */
export function makeRule({ tiers = [], ...choice }: RuleChoice): Made {
  const made = [choice, ...tiers].map(makeOneRule)
  const wrong = made.find((one) => 'problem' in one)
  if (wrong !== undefined || made.length === 1) return wrong ?? (made[0] as Made)
  const rules = made.flatMap((one) => ('rule' in one ? [one.rule] : []))
  const other = rules.find(({ windowMs }) => windowMs === undefined)
  if (other !== undefined) return { problem: `${other.kind} cannot be one of several tiers here` }
  return { rule: tieredRule(rules) }
}

function makeOneRule(choice: RuleChoice): Made {
  const form = findForm(choice.rule)
  if (form === undefined) return { problem: `unknown rule ${JSON.stringify(choice.rule)}` }
  try {
    return { rule: form.make(composeOptions(form, choice)) }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

/** The value of a field as a number, for its slider: a length of time in milliseconds. `undefined` when it is none. */
export function parseNumber(kind: RuleField['kind'], text: string): number | undefined {
  if (kind === 'duration') return parseDuration(text)
  const value = Number(text)
  return text.trim() === '' || !Number.isFinite(value) ? undefined : value
}

/** What contestants are called: the rule's name, and a number from the second of a kind on. */
export function nameLanes(choices: readonly RuleChoice[]): string[] {
  return choices.map(({ rule }, index) => {
    const before = choices.slice(0, index).filter((other) => other.rule === rule).length
    return before === 0 ? rule : `${rule}-${before + 1}`
  })
}

function parseDuration(text: string): number | undefined {
  try {
    return duration(text.trim())
  } catch {
    return undefined
  }
}
