import { duration } from '../../src/core/duration.ts'
import { nameField, type RuleField, type RuleForm } from '../../src/rules/rule-form.ts'
import { composeOptions, findForm, nameLanes, type RuleChoice } from './rule-choice.ts'

/** The chosen rules as a program. They must be rules that can be made. */
export function composeTypescript(choices: readonly RuleChoice[]): string {
  const factories = [...new Set(choices.map((choice) => getForm(choice).factory))].sort()
  const names = nameLanes(choices)
  const limiters = choices.map((choice, index) => composeLimiter(choice, names[index] as string))
  return [`import { createLimiter, ${factories.join(', ')} } from 'sluice'`, ...limiters].join('\n\n').concat('\n')
}

/** The chosen rules as a file of policies. They must be rules that can be made. */
export function composeYaml(choices: readonly RuleChoice[]): string {
  const names = nameLanes(choices)
  const policies = choices.map((choice, index) => {
    const form = getForm(choice)
    const lines = Object.entries(composeOptions(form, choice)).map(([word, value]) => `    ${word}: ${value}`)
    return [`  ${names[index]}:`, `    rule: ${form.name}`, ...lines].join('\n')
  })
  return ['policies:', ...policies].join('\n').concat('\n')
}

function composeLimiter(choice: RuleChoice, name: string): string {
  const form = getForm(choice)
  const given = composeOptions(form, choice)
  const options = form.fields
    .filter((field) => nameField(field) in given)
    .map((field) => `${field.name}: ${writeLiteral(field, given[nameField(field)] as string | number)}`)
  return [
    `export const ${camelCase(name)}Limiter = createLimiter({`,
    `  name: '${name}',`,
    `  rule: ${form.factory}({ ${options.join(', ')} }),`,
    '})',
  ].join('\n')
}

function writeLiteral(field: RuleField, value: string | number): string {
  switch (field.kind) {
    case 'choice':
      return `'${value}'`
    case 'duration':
      return groupDigits(duration(`${value}`))
    case 'count':
      return groupDigits(Number(value))
  }
}

/** A number as our own code writes it: `60_000`. */
function groupDigits(value: number): string {
  return `${value}`.replaceAll(/\B(?=(?:\d{3})+$)/g, '_')
}

function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_match, letter: string) => letter.toUpperCase())
}

function getForm(choice: RuleChoice): RuleForm {
  return findForm(choice.rule) as RuleForm
}
