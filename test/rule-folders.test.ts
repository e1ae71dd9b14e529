import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listedRules, missingIn, ROOT, ruleFolders } from '../scripts/rules/folders.mjs'
import { ruleModules } from '../scripts/rules/lists.mjs'

// Only files are looked at here: what is missing is reported even where nothing that reads it can run.

it.each(ruleFolders())('%s has all its files, its line in src/rules/index.ts, and nothing left to fill in', (name) => {
  const missing = missingIn(name)
  expect(missing, missing.join('\n')).toEqual([])
})

it('every line of src/rules/index.ts is that of a rule', () => {
  const lines = readFileSync(join(ROOT, 'src/rules/index.ts'), 'utf8').trimEnd().split('\n')
  expect(lines.sort()).toEqual(
    ruleFolders()
      .map((name) => `export * from './${name}/${name}.ts'`)
      .sort(),
  )
  expect(listedRules().sort()).toEqual(ruleFolders())
})

it('the lists of rules are those of the lines: npm run scripts writes them', () => {
  for (const [file, text] of Object.entries(ruleModules()))
    expect([file, readFileSync(join(ROOT, file), 'utf8')]).toEqual([file, text])
})

it('the folder of a rule has no other files than those', () => {
  const strange = ruleFolders().flatMap((name) =>
    readdirSync(join(ROOT, 'src/rules', name)).filter((file) => !file.startsWith(`${name}.`)),
  )
  expect(strange).toEqual([])
})
