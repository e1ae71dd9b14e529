import * as forms from '../rules/forms.ts'
import type { RuleField, RuleForm } from '../rules/rule-form.ts'
import type { Contestant } from './simulation.ts'

// By name, because the order of a module's exports depends on who has bundled it.
const FORMS: readonly RuleForm[] = Object.values(forms).sort((one, other) => (one.name < other.name ? -1 : 1))

/** Every rule there is, in each of its modes, all of them with the same limit for the same length of time. */
export function listRuleVariants(limit: number, windowMs: number): readonly Contestant[] {
  return FORMS.flatMap((form) => {
    const options = Object.fromEntries(form.fields.flatMap((field) => composeValue(field, limit, windowMs)))
    const modes = listModes(form).map((mode) => ({
      name: `${form.name}${mode.name}`,
      rule: form.make({ ...options, ...mode.options }),
    }))
    // What goes by another name is there under its own.
    return modes.filter(({ rule }) => rule.kind === form.name)
  })
}

interface Mode {
  readonly name: string
  readonly options: Readonly<Record<string, string>>
}

/** The rule as it is, and as it is with each other choice. */
function listModes(form: RuleForm): readonly Mode[] {
  const others = form.fields.flatMap((field) =>
    (field.choices ?? []).slice(1).map((choice) => ({
      name: ` ${field.name}=${choice}`,
      options: { [field.name]: choice },
    })),
  )
  return [{ name: '', options: {} }, ...others]
}

// What has to be said has an example: a number of requests, or a length of time.
function composeValue(field: RuleField, limit: number, windowMs: number): [string, number][] {
  if (field.example === undefined) return []
  switch (field.kind) {
    case 'duration':
      return [[field.name, windowMs]]
    case 'count':
      return [[field.name, limit]]
  }
}
