import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { readPolicies } from '../../src/policies/read-policies.ts'
import * as forms from '../../src/rules/forms.ts'
import { readRlsConfig } from '../../src/service/rls/read-rls-config.ts'
import { recordingTerminal } from '../recording-terminal.ts'

const page = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
const blocks = [...page('policies-file').matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text as string)

it.each(blocks)('the documented file is right: %#', (text) => {
  expect(readPolicies(text, 'docs').length).toBeGreaterThan(0)
})

it('the documented rate limits of Envoy are right', () => {
  const [, text] = /^```yaml\n(domain: .*?)^```$/ms.exec(page('envoy')) ?? []
  expect(readRlsConfig(text as string, 'docs').rateLimits).toHaveLength(3)
})

it('there are documented files', () => {
  expect(blocks.length).toBeGreaterThan(1)
})

it.each(Object.values(forms))('the options of $name are documented', (form) => {
  const [needs, may] = [true, false].map((isNeeded) => {
    const fields = form.fields.filter(({ example }) => (example !== undefined) === isNeeded)
    return fields.map((field) => `\`${field.name}\``).join(', ')
  })
  const row = page('policies-file')
    .split('\n')
    .find((line) => line.startsWith(`| \`${form.name}\` `))
  expect(
    row
      ?.split('|')
      .map((cell) => cell.trim())
      .slice(2, 4),
  ).toEqual([needs, may])
})

it('every command is documented', async () => {
  const terminal = recordingTerminal()
  await run(['--help'], terminal)
  const listed = terminal.text().slice(terminal.text().indexOf('Commands:'), terminal.text().indexOf('Examples:'))
  const names = [...listed.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name).filter((name) => name !== 'help')
  expect([...page('cli').matchAll(/^\| \[`sluice (\w+)`\]/gm)].map(([, name]) => name).sort()).toEqual(names.sort())
})
