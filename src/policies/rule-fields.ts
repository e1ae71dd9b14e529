import { LONGEST_MS, wholeNumber } from '../core/check.ts'
import { type RuleField, type RuleForm, wordOf } from '../rules/rule-form.ts'
import { choiceField, countField, durationField, type Field, inWords } from './read-fields.ts'

/** The options of a rule, as a file says them. */
export function ruleFields(form: RuleForm): readonly Field[] {
  return form.fields.map((field) => {
    if (field.kind === 'choice') return choiceField(field.name, field.choices as readonly string[])
    if (field.kind === 'count') return countField(field.name, findLeast(form, field))
    const { name } = field
    // Some may be zero, and the rule knows which.
    const inMilliseconds = (called: string, value: unknown) => wholeNumber(called, value, 0, LONGEST_MS)
    return durationField(name, wordOf(field), inMilliseconds)
  })
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
  return Object.fromEntries(
    needed.map(({ name, kind, example }) => [name, kind === 'duration' ? inWords(name, example) : example]),
  )
}
