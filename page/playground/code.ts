import type { RuleField, RuleForm } from '../../src/rules/rule-form.ts'
import { composeOptions, findForm, nameLanes, type RuleChoice } from './rule-choice.ts'

/** The chosen rules as a program. They must be rules that can be made. */
export function composeTypescript(choices: readonly RuleChoice[]): string {
  const factories = [...new Set(choices.flatMap(listTiers).map((choice) => getForm(choice).factory))].sort()
  const names = nameLanes(choices)
  const limiters = choices.map((choice, index) => composeLimiter(choice, names[index] as string))
  return [`import { createLimiter, ${factories.join(', ')} } from 'sluice'`, ...limiters].join('\n\n').concat('\n')
}

/** The chosen rules as a file of policies. They must be rules that can be made. */
export function composeYaml(choices: readonly RuleChoice[]): string {
  const names = nameLanes(choices)
  const policies = choices.map((choice, index) => {
    const name = `  ${names[index]}:`
    if (choice.tiers === undefined) return [name, ...listYamlFields(choice).map((field) => `    ${field}`)].join('\n')
    const tiers = listTiers(choice)
    const tierNames = nameLanes(tiers)
    const lines = tiers.map((tier, at) => `      ${tierNames[at]}: { ${listYamlFields(tier).join(', ')} }`)
    return [name, '    tiers:', ...lines].join('\n')
  })
  return ['policies:', ...policies].join('\n').concat('\n')
}

function listTiers(choice: RuleChoice): readonly RuleChoice[] {
  return [choice, ...(choice.tiers ?? [])]
}

function listYamlFields(choice: RuleChoice): string[] {
  const form = getForm(choice)
  const options = Object.entries(composeOptions(form, choice))
  return [`rule: ${form.name}`, ...options.map(([word, value]) => `${word}: ${value}`)]
}

function composeLimiter(choice: RuleChoice, name: string): string {
  const tiers = listTiers(choice)
  const tierNames = nameLanes(tiers)
  const limits =
    choice.tiers === undefined
      ? [`  rule: ${composeCall(choice)},`]
      : ['  tiers: {', ...tiers.map((tier, at) => `    '${tierNames[at]}': ${composeCall(tier)},`), '  },']
  return [`export const ${camelCase(name)}Limiter = createLimiter({`, `  name: '${name}',`, ...limits, '})'].join('\n')
}

function composeCall(choice: RuleChoice): string {
  const form = getForm(choice)
  const given = composeOptions(form, choice)
  const options = form.fields
    .filter((field) => field.name in given)
    .map((field) => `${field.name}: ${writeLiteral(field, given[field.name] as string | number)}`)
  return `${form.factory}({ ${options.join(', ')} })`
}

function writeLiteral(field: RuleField, value: string | number): string {
  switch (field.kind) {
    case 'choice':
    case 'duration':
      return `'${value}'`
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
