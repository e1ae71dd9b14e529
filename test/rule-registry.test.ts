import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../scripts/rules/folders.mjs'
import { rulePages } from '../scripts/rules/lists.mjs'
import * as exportedForms from '../src/rules/forms.ts'
import * as exportedRules from '../src/rules/index.ts'
import * as exportedExamples from '../src/rules/worked-examples.ts'
import { listRuleVariants } from '../src/simulate/rule-variants.ts'
import { nextExamples } from '../src/testing/next-examples.ts'
import { everyMode, everyRule, formNames, GOOD, ruleNames, ruleOf } from './rule-registry.ts'

describe.each(everyRule)('the folder of $name', ({ name, forms, examples, promises, samples }) => {
  it('has a form for each of its factories, and says what each mode is for', () => {
    const factories = Object.keys(samples.good)
    expect(forms.map(({ factory }) => factory).sort()).toEqual(factories.sort())
    for (const form of forms) expect(Object.values(exportedForms)).toContain(form)
    const contestants = samples.modes.map(({ contestant }) => contestant)
    expect(Object.keys(forms[0].uses)).toEqual(contestants)
    for (const { uses } of forms.slice(1)) expect(uses).toEqual({})
    for (const use of Object.values(forms[0].uses)) expect(use).toMatch(/^[a-z].{5,60}[^.]$/)
  })

  it('has a mode for each line of the simulator, and each makes this rule of the numbers that it is given', () => {
    const played = listRuleVariants(10, 1_000).filter(({ rule }) => rule.kind === name)
    expect(samples.modes.map(({ contestant }) => contestant)).toEqual(played.map((contestant) => contestant.name))
    for (const mode of samples.modes) {
      expect(Object.keys(samples.good)).toContain(mode.factory)
      for (const limit of [1, 7]) expect(ruleOf(mode, { ...GOOD, limit })).toMatchObject({ kind: name, limit })
      const lengths = [1_000, 9_000].map((timeMs) => ruleOf(mode, { ...GOOD, timeMs }).parameters)
      expect(lengths[0]).not.toEqual(lengths[1])
      expect(ruleOf(mode, { ...GOOD, maxDebt: 3 }).parameters.maxDebt).toBe(3)
    }
  })

  it('has examples by hand: of decisions, of what is refunded, and of when more would pass', () => {
    const file = `src/rules/${name}/${name}`
    expect(examples.length, `${file}.examples.ts needs two examples or more`).toBeGreaterThanOrEqual(2)
    for (const { rule } of examples) expect(rule.kind).toBe(name)
    const contract = Object.values(exportedExamples).flat()
    for (const example of examples) expect(contract).toContain(example)
    const givesBack = samples.modes.flatMap((mode) => mode.givesBack)
    expect(givesBack.length, `${file}.samples.ts needs an example in givesBack`).toBeGreaterThan(0)
    const next = [...examples, ...nextExamples].filter(({ rule }) => rule.kind === name)
    const says = next.flatMap(({ turns }) => turns).filter(([, , , answer]) => answer.nextAfterMs !== undefined)
    expect(says.length, `${file}.examples.ts needs a turn that says nextAfterMs`).toBeGreaterThan(0)
  })

  it('promises something of each factory that its modes use', () => {
    for (const { factory } of samples.modes)
      expect(promises.some(({ name: promised }) => promised.startsWith(factory))).toBe(true)
  })
})

it('there is nothing beside the folders: no other factory, form or name', () => {
  expect(everyRule.flatMap(({ samples }) => Object.keys(samples.good)).sort()).toEqual(
    Object.keys(exportedRules).sort(),
  )
  expect(everyRule.flatMap(({ forms }) => [...forms]).length).toBe(Object.keys(exportedForms).length)
  expect(everyMode.map((mode) => ruleOf(mode, GOOD).kind).filter((kind) => !ruleNames.includes(kind))).toEqual([])
  for (const names of [formNames, everyMode.map(({ title }) => title), everyMode.map(({ contestant }) => contestant)])
    expect(new Set(names).size).toBe(names.length)
})

it('the pages that list rules have every one: npm run scripts writes them', () => {
  for (const [file, text] of Object.entries(rulePages(Object.values(exportedForms))))
    expect(readFileSync(join(ROOT, file), 'utf8')).toBe(text)
})
