import { expect, it } from 'vitest'
import { writePolicies } from '../../../test/cli/policy-file.ts'
import { recordingTerminal } from '../../../test/recording-terminal.ts'
import { INVALID_FILES } from '../../policies/invalid-files.examples.ts'
import { VALID_FILES } from '../../policies/valid-files.examples.ts'
import { run } from '../program.ts'

async function check(...args: string[]) {
  const terminal = recordingTerminal()
  const code = await run(['check', ...args], terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

it('says in one line what is in a file that is right', async () => {
  const file = await writePolicies('policies:\n  api: { rule: fixed-window, limit: 1, window: 1s }\n')
  expect(await check(file)).toEqual({ code: 0, out: `${file} is right: 1 policy, 1 limit\n`, err: '' })
  const tiers = await writePolicies(
    'policies:\n  a: { rule: gcra, limit: 1, period: 1s }\n  b: { tiers: { c: { rule: gcra, limit: 1, period: 1s }, d: { rule: gcra, limit: 1, period: 1s } } }\n',
  )
  expect(await check(tiers)).toEqual({ code: 0, out: `${tiers} is right: 2 policies, 3 limits\n`, err: '' })
})

it('names every mistake with line, column and nearest name, and ends with 2', async () => {
  const file = await writePolicies('policies:\n  api: { rule: fixed-window, limit: 0, windw: 1s, window: 1s }\n')
  expect(await check(file)).toEqual({
    code: 2,
    out: `${file}:2:37: limit must be a whole number of at least 1, got 0\n${file}:2:40: the policy "api" by the rule fixed-window has no option "windw", did you mean "window"?\n`,
    err: `sluice: ${file} has 2 mistakes\n`,
  })
})

it('names more than fifty', async () => {
  const lines = Array.from({ length: 60 }, (_, index) => `  p${index}: { rule: fixed-window, limit: 0, window: 1s }\n`)
  const { out, err } = await check(await writePolicies(`policies:\n${lines.join('')}`))
  expect(out.split('\n')).toHaveLength(61)
  expect(err).toMatch(/ has 60 mistakes\n$/)
})

it('says the same as JSON', async () => {
  const right = await writePolicies('policies:\n  api: { rule: fixed-window, limit: 1, window: 1s }\n')
  const { code, out, err } = await check(right, '--json')
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toEqual({ file: right, valid: true, policies: ['api'], problems: [] })
  const wrong = await writePolicies('policies:\n  api: { rule: fixed-window, limit: 0, window: 1s }\n')
  const found = await check(wrong, '--json')
  expect([found.code, found.err]).toEqual([2, `sluice: ${wrong} has 1 mistake\n`])
  const reason = 'limit must be a whole number of at least 1, got 0'
  expect(JSON.parse(found.out)).toEqual({
    file: wrong,
    valid: false,
    policies: [],
    problems: [{ line: 2, column: 37, reason }],
  })
})

it('ends with 2 when no such file', async () => {
  expect(await check('missing.yaml')).toEqual({
    code: 2,
    out: '',
    err: 'sluice: the policies file "missing.yaml" cannot be read: no such file\n',
  })
})

it('ends with 0 for every file that is right, and with 2 for every other', async () => {
  for (const [, text] of VALID_FILES) expect((await check(await writePolicies(text))).code).toBe(0)
  for (const [, text, problems] of INVALID_FILES) {
    const { code, out } = await check(await writePolicies(text))
    expect([code, out.trimEnd().split('\n').length]).toEqual([2, problems.length])
  }
})
