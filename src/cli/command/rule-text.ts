import { show } from '../../core/check.ts'
import type { LimiterError } from '../../core/limiter-error.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Rule } from '../../core/rule.ts'
import * as forms from '../../rules/forms.ts'
import type { RuleForm } from '../../rules/rule-form.ts'
import { type CommandFailure, UsageError } from '../terminal/command-failure.ts'

/** Reads a rule as it is written on a command line: `sliding-window limit=100 window=1m`. */
export function parseRule(text: string): Rule {
  const [name = '', ...options] = splitWords(text)
  const form = RULES.find((candidate) => candidate.name === name)
  if (form === undefined) {
    const names = RULES.map((candidate) => candidate.name)
    const hint = didYouMean(name, names) || `: there are ${names.join(', ')}`
    throw createRuleError(
      text,
      name === '' ? 'a rule starts with its name, such as sliding-window' : `unknown rule ${show(name)}${hint}`,
    )
  }
  const given: Record<string, unknown> = {}
  for (const option of options) {
    const [, word, value] = /^([^=]+)=(.+)$/.exec(option) ?? []
    if (word === undefined)
      throw createRuleError(text, `${show(option)} must be an option and its value, such as ${composeExample(form)}`)
    if (word in given) throw createRuleError(text, `${word} comes twice. Remove one`)
    given[word] = parseValue(form, word, value as string)
  }
  try {
    return form.make(given)
  } catch (error) {
    throw createRuleError(text, (error as LimiterError).message)
  }
}

/** The text with one space between its words: what people know the rule by. */
export function formatRuleName(text: string): string {
  return splitWords(text).join(' ')
}

/** Every rule with an example, a line each, for the help. */
export function listRuleExamples(): readonly string[] {
  return RULES.map((form) => `${form.name} ${composeExample(form)}`)
}

// By name, because the order of a module's exports depends on who has bundled it.
const RULES: readonly RuleForm[] = Object.values(forms).sort((one, other) => (one.name < other.name ? -1 : 1))

function splitWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}

function composeExample(form: RuleForm): string {
  const needed = form.fields.filter(({ example }) => example !== undefined)
  return needed.map((field) => `${field.name}=${field.example}`).join(' ')
}

/** Numbers as numbers. A duration stays a text: a bare number would leave its unit to guesses. */
function parseValue(form: RuleForm, word: string, value: string): string | number {
  const isDuration = form.fields.some((field) => field.kind === 'duration' && field.name === word)
  return /^\d[\d_]*$/.test(value) && !isDuration ? Number(value.replaceAll('_', '')) : value
}

function createRuleError(text: string, reason: string): CommandFailure {
  return new UsageError(`the rule ${show(text)} is wrong: ${reason}`)
}
