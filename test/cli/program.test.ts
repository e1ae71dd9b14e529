import { expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { run } from '../../src/cli/program.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { writePolicies } from './policy-file.ts'

async function said(...args: string[]) {
  const terminal = recordingTerminal()
  const code = await run(args, terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

it('alone it lists the commands, with examples, exit codes and environment variables', async () => {
  const { code, out, err } = await said()
  expect([code, err]).toEqual([0, ''])
  expect(await said('--help')).toEqual({ code, out, err })
  for (const word of ['init', 'check', 'explain', 'serve', 'simulate', 'top', 'inspect', 'reset', 'scripts'])
    expect(out).toMatch(new RegExp(`^  ${word}\\b`, 'm'))
  for (const word of ['Examples:', 'Exit codes:', 'SLUICE_REDIS_URL', 'SLUICE_TOKEN', 'NO_COLOR'])
    expect(out).toContain(word)
})

/** The commands that a help lists, but `help` itself. */
function listCommands(help: string): string[] {
  const [, list = ''] = help.split('Commands:')
  const names = [...list.slice(0, list.indexOf('Examples:')).matchAll(/^ {2}(\w+) /gm)].map(
    ([, name]) => name as string,
  )
  return names.filter((name) => name !== 'help')
}

it('every command has help with an example, and so has each command below it', async () => {
  const paths = listCommands((await said()).out).map((name) => [name])
  expect(paths.length).toBeGreaterThan(8)
  for (const path of paths) {
    const help = await said(...path, '--help')
    expect([path, help.code, help.err]).toEqual([path, 0, ''])
    expect(help.out).toContain(`Usage: sluice ${path.join(' ')}`)
    expect(help.out).toMatch(new RegExp(`Examples:\\n  sluice ${path.join(' ')}`))
    paths.push(...listCommands(help.out).map((name) => [...path, name]))
  }
  expect(paths).toContainEqual(['scripts', 'load'])
})

it('reports its version', async () => {
  expect(await said('--version')).toEqual({ code: 0, out: `${manifest.version}\n`, err: '' })
})

it('suggests what was probably meant', async () => {
  expect(await said('inspct')).toEqual({
    code: 2,
    out: '',
    err: "sluice: unknown command 'inspct'\n(Did you mean inspect?)\n(--help shows the options and examples)\n",
  })
  const { code, err } = await said('inspect', 'user:42', '--polcy', 'api')
  expect([code, err]).toEqual([
    2,
    "sluice: unknown option '--polcy'\n(Did you mean --policy?)\n(--help shows the options and examples)\n",
  ])
})

it('ends with 2 when an argument is missing, and says which', async () => {
  expect(await said('inspect')).toEqual({
    code: 2,
    out: '',
    err: "sluice: missing required argument 'key'\n(--help shows the options and examples)\n",
  })
})

it('reports all that is wrong with a file of policies, and ends with 2', async () => {
  const file = await writePolicies('policies:\n  api: { rule: fixed-window, limit: 0, window: 1 }\n')
  const { code, err } = await said(
    'inspect',
    'user:42',
    '--policies',
    file,
    '--policy',
    'api',
    '--redis',
    'redis://127.0.0.1:1',
  )
  expect([code, err]).toEqual([
    2,
    `sluice: ${file}:2:37: limit must be a whole number of at least 1, got 0\n${file}:2:48: window must be a duration such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got 1\n`,
  ])
})

it('what stands behind -- is no option', async () => {
  const { err } = await said('reset', '--', '--no-color')
  expect(err).toBe('sluice: --policy is missing, such as --policy api\n')
})

it('a group of commands alone says what is in it', async () => {
  const { code, out, err } = await said('scripts')
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain('Usage: sluice scripts')
})

it('prints an unexpected error with its stack', async () => {
  const out = () => {
    throw new Error('the disk is full')
  }
  const terminal = recordingTerminal({ out })
  expect(await run(['scripts', 'list'], terminal)).toBe(1)
  expect(terminal.errors()).toMatch(/^sluice: Error: the disk is full\n {4}at /)
})
