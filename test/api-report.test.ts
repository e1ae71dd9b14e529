import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { composeApiReport } from '../scripts/api-report.mjs'

const report = readFileSync(new URL('../docs/api-report.txt', import.meta.url), 'utf8')

it('the report of public names is up to date: npm run api writes it, and its diff shows what changes for users', () => {
  expect(composeApiReport()).toBe(report)
})

it('the root entry has no name that only authors of stores type', () => {
  const root = report.slice(0, report.indexOf('\n# '))
  expect(root).toContain('createLimiter')
  for (const name of ['decideAll', 'KeyState', 'createOperation', 'encodeScope', 'STORE_TIME', 'Reply']) {
    expect(report).toContain(name)
    expect(root).not.toMatch(new RegExp(`^(function|type|interface|const) ${name}\\b`, 'm'))
  }
})
