import type { RuleField, RuleForm } from '../rules/rule-form.ts'
import { choiceField, countField, durationField, type Field, requireText } from './read-fields.ts'

/** The options of a rule, as a file says them. */
export function listRuleFields(form: RuleForm): readonly Field[] {
  return form.fields.map((field) => createField(form, field))
}

function createField(form: RuleForm, field: RuleField): Field {
  switch (field.kind) {
    case 'choice':
      return choiceField(field.name, field.about, field.choices)
    case 'count':
      return countField(field.name, field.about, findLeast(form, field))
    case 'duration':
      return { ...durationField(field.name, field.about), check: requireText }
  }
}

/** Zero where the rule takes it beside good numbers, and otherwise one. */
function findLeast(form: RuleForm, { name }: RuleField): number {
  try {
    form.make({ ...composeExamples(form), [name]: 0 })
    return 0
  } catch {
    return 1
  }
}

function composeExamples(form: RuleForm): Record<string, unknown> {
  const needed = form.fields.filter(({ example }) => example !== undefined)
  return Object.fromEntries(needed.map(({ name, example }) => [name, example]))
}
