import { duration } from '../../core/duration.ts'
import { type RuleField, type RuleForm, wordOf } from '../../rules/rule-form.ts'
import { formOf, namesOf, optionsOf, type RuleChoice } from './rule-choice.ts'

/** The chosen rules as a program. They must be rules that can be made. */
export function typescriptOf(choices: readonly RuleChoice[]): string {
  const factories = [...new Set(choices.map((choice) => formFor(choice).factory))].sort()
  const names = namesOf(choices)
  const limiters = choices.map((choice, index) => limiterOf(choice, names[index] as string))
  return [`import { createLimiter, ${factories.join(', ')} } from 'sluice'`, ...limiters].join('\n\n').concat('\n')
}

/** The chosen rules as a file of policies. They must be rules that can be made. */
export function yamlOf(choices: readonly RuleChoice[]): string {
  const names = namesOf(choices)
  const policies = choices.map((choice, index) => {
    const form = formFor(choice)
    const lines = Object.entries(optionsOf(form, choice)).map(([word, value]) => `    ${word}: ${value}`)
    return [`  ${names[index]}:`, `    rule: ${form.name}`, ...lines].join('\n')
  })
  return ['policies:', ...policies].join('\n').concat('\n')
}

function limiterOf(choice: RuleChoice, name: string): string {
  const form = formFor(choice)
  const given = optionsOf(form, choice)
  const options = form.fields
    .filter((field) => wordOf(field) in given)
    .map((field) => `${field.name}: ${literal(field, given[wordOf(field)] as string | number)}`)
  return [
    `export const ${camelCase(name)}Limiter = createLimiter({`,
    `  name: '${name}',`,
    `  rule: ${form.factory}({ ${options.join(', ')} }),`,
    '})',
  ].join('\n')
}

function literal(field: RuleField, value: string | number): string {
  switch (field.kind) {
    case 'choice':
      return `'${value}'`
    case 'duration':
      return grouped(duration(`${value}`))
    case 'count':
      return grouped(Number(value))
  }
}

/** A number as our own code writes it: `60_000`. */
function grouped(value: number): string {
  return `${value}`.replaceAll(/\B(?=(?:\d{3})+$)/g, '_')
}

function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_match, letter: string) => letter.toUpperCase())
}

function formFor(choice: RuleChoice): RuleForm {
  return formOf(choice.rule) as RuleForm
}
