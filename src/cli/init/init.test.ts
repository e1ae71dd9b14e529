import { readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { Ajv } from 'ajv'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { writePolicies } from '../../../test/cli/policy-file.ts'
import { recordingTerminal } from '../../../test/recording-terminal.ts'
import { composePoliciesSchema } from '../../policies/policies-schema.ts'
import { run } from '../program.ts'

async function said(...args: string[]) {
  const terminal = recordingTerminal()
  const code = await run(args, terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

/** A path in a folder that is gone after the test. */
async function newPath(name: string): Promise<string> {
  return join(dirname(await writePolicies('', 'other.txt')), name)
}

it('writes a file that passes the check', async () => {
  const file = await newPath('limits.yaml')
  expect(await said('init', file)).toEqual({
    code: 0,
    out: `${file} is written. Check it after each change: npx sluice check ${file}\n`,
    err: '',
  })
  expect(await said('check', file)).toMatchObject({ code: 0, out: `${file} is right: 5 policies, 6 limits\n` })
})

it('writes a file that the schema takes', async () => {
  const file = await newPath('limits.yaml')
  await said('init', file)
  const validate = new Ajv({ allowUnionTypes: true }).compile(composePoliciesSchema())
  validate(parse(await readFile(file, 'utf8')))
  expect(validate.errors).toBe(null)
})

it('begins with the line by which editors find the schema, seen from the folder of the file', async () => {
  const file = await newPath('limits.yaml')
  await said('init', file)
  const [first] = (await readFile(file, 'utf8')).split('\n')
  const schema = relative(dirname(file), resolve('node_modules/sluice/dist/policies.schema.json'))
  expect(first).toBe(`# yaml-language-server: $schema=${schema}`)
})

it('overwrites nothing unless --force says so', async () => {
  const file = await writePolicies('mine')
  expect(await said('init', file)).toEqual({
    code: 2,
    out: '',
    err: `sluice: ${file} exists already. Overwrite it with --force\n`,
  })
  expect(await readFile(file, 'utf8')).toBe('mine')
  expect((await said('init', file, '--force')).code).toBe(0)
  expect((await said('check', file)).code).toBe(0)
})

it('fails where it cannot write', async () => {
  const file = await newPath('missing/limits.yaml')
  expect(await said('init', file)).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^sluice: .*limits\.yaml cannot be written: ENOENT/),
  })
})
