import { describe, expect, it } from 'vitest'
import type { Rule } from '../core/rule.ts'
import * as exportedForms from './forms.ts'
import * as exportedRules from './index.ts'
import type { RuleForm } from './rule-form.ts'

const forms: RuleForm[] = Object.values(exportedForms)
const factories = exportedRules as unknown as Record<string, (options: object) => Rule>

it('there is a form for every rule', () => {
  expect(forms.map(({ factory }) => factory).sort()).toEqual(Object.keys(factories).sort())
  expect(new Set(forms.map(({ name }) => name)).size).toBe(forms.length)
})

describe.each(forms)('$name', (form) => {
  const examples = Object.fromEntries(
    form.fields.filter(({ example }) => example !== undefined).map((field) => [field.name, field.example]),
  )

  it('has the options of its factory, no more and no less', () => {
    const takes = form.fields.map(({ name }) => name).join(', ')
    expect(() => factories[form.factory]?.({ other: 1 })).toThrow(`it takes ${takes}`)
  })

  it('makes a rule of its examples', () => {
    expect(form.make(examples).kind).toBe(form.name === 'gcra' ? 'token-bucket' : form.name)
  })

  it('takes every choice, and the first of them by default', () => {
    for (const field of form.fields) {
      if (field.kind !== 'choice') continue
      for (const choice of field.choices ?? []) form.make({ ...examples, [field.name]: choice })
      expect(form.make(examples).parameters[field.name]).toBe(field.choices?.[0])
    }
  })
})
