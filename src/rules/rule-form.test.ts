import { describe, expect, it } from 'vitest'
import type { Rule } from '../core/rule.ts'
import * as exportedForms from './forms.ts'
import * as exportedRules from './index.ts'
import { nameField, type RuleForm, ruleFrom } from './rule-form.ts'

const forms: RuleForm[] = Object.values(exportedForms)
const factories = exportedRules as unknown as Record<string, (options: object) => Rule>

it('there is a form for every rule', () => {
  expect(forms.map(({ factory }) => factory).sort()).toEqual(Object.keys(factories).sort())
  expect(new Set(forms.map(({ name }) => name)).size).toBe(forms.length)
})

describe.each(forms)('$name', (form) => {
  const examples = Object.fromEntries(
    form.fields.filter(({ example }) => example !== undefined).map((field) => [nameField(field), field.example]),
  )

  it('has the options of its factory, no more and no less', () => {
    const takes = form.fields.map(({ name }) => name).join(', ')
    expect(() => factories[form.factory]?.({ other: 1 })).toThrow(`it takes ${takes}`)
    expect(() => ruleFrom(form, { other: 1 })).toThrow(
      `${form.name} has no option "other": it takes ${form.fields.map(nameField).join(', ')}`,
    )
  })

  it('makes a rule of its examples, with lengths of time in words and in milliseconds', () => {
    const inWords = ruleFrom(form, examples)
    expect(inWords.kind).toBe(form.name === 'gcra' ? 'token-bucket' : form.name)
    const { parameters } = inWords
    const inNumbers = form.fields
      .filter(({ name }) => name in parameters && name !== 'maxDebt' && !(name === 'maxWaitMs'))
      .map(({ name }) => [name, parameters[name]])
    if (form.name !== 'gcra') expect(ruleFrom(form, Object.fromEntries(inNumbers)).parameters).toEqual(parameters)
  })

  it('takes every choice, and the first of them by itself', () => {
    for (const field of form.fields) {
      if (field.kind !== 'choice') continue
      for (const choice of field.choices ?? []) ruleFrom(form, { ...examples, [field.name]: choice })
      expect(ruleFrom(form, examples).parameters[field.name]).toBe(field.choices?.[0])
    }
  })
})

it('says what is wrong with an option', () => {
  const form = exportedForms.slidingWindowForm
  expect(() => ruleFrom(form, { limit: 0, window: '1m' })).toThrow('limit must be a whole number of at least 1, got 0')
  expect(() => ruleFrom(form, { limit: 1, window: 'soon' })).toThrow("a duration looks like '250ms', '1m' or '1h30m'")
  expect(() => ruleFrom(form, { limit: 1, window: 60 })).toThrow(
    "a duration looks like '250ms', '1m' or '1h30m', got 60",
  )
  expect(() => ruleFrom(form, { limit: 1, window: '1m', windowMs: 60_000 })).toThrow(
    'window and windowMs say the same: one of them must go',
  )
  expect(ruleFrom(form, { limit: 1, windowMs: '1m' }).parameters.windowMs).toBe(60_000)
})
