import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'

// The script finds everything relative to itself, so a copy of it runs on engines and on a Vitest of our own making.
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-engines-'))
  for (const name of ['test-engines.mjs', 'run-vitest.mjs']) {
    await cp(fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url)), join(folder, 'scripts', name))
  }
  await mkdir(join(folder, 'test/servers'), { recursive: true })
  await mkdir(join(folder, 'node_modules/vitest'), { recursive: true })
})
afterEach(() => rm(folder, { recursive: true }))

const PASSES = { says: 'engine x: version 8.1.1\n3 passed, 0 failed', code: 0 }
const FAILS = { says: 'engine y: version 9\n2 passed, 1 failed', code: 1 }
const BREAKS = { says: 'engine y: version 9\n3 passed, 0 failed', code: 1 }
const CRASHES = { says: 'engine y: version 9', code: 0 }
const IS_NOT_THERE = { says: 'engine z: none, no apt-get', code: 1 }
const IS_UNCLEAR = { says: '', code: 1 }

it.each([
  ['passes when every suite passes', { x: PASSES }, 0, ['x       8.1.1    3 passed, 0 failed']],
  [
    'passes when an engine cannot be had, and says why',
    { x: PASSES, z: IS_NOT_THERE, u: IS_UNCLEAR },
    0,
    [
      'x       8.1.1    3 passed, 0 failed',
      'z                none, no apt-get',
      'u                Vitest ended with 1',
    ],
  ],
  [
    'fails when a suite fails, and still runs the next',
    { y: FAILS, x: PASSES },
    1,
    ['y       9        2 passed, 1 failed; Vitest ended with 1', 'x       8.1.1    3 passed, 0 failed'],
  ],
  ['fails when Vitest does', { y: BREAKS }, 1, ['y       9        3 passed, 0 failed; Vitest ended with 1']],
  ['fails when Vitest says nothing', { y: CRASHES }, 1, ['y       9        Vitest ended with 0']],
  [
    'fails when no engine can be had',
    { z: IS_NOT_THERE },
    1,
    ['z                none, no apt-get', '', 'no further engine could be had'],
  ],
])('%s', async (_, runs, code, lines) => {
  const result = await testEngines(runs)
  expect(result.code).toBe(code)
  expect(result.output.split('\nengine  version  result\n')[1]?.trimEnd().split('\n')).toEqual(lines)
})

it('hands its arguments to Vitest, and no server that was named', async () => {
  const { output } = await testEngines({ x: PASSES }, 'test/some.test.ts')
  expect(output).toContain('run test/some.test.ts, server undefined\n')
})

/** Runs the script; its Vitest says and ends as `runs` has it for the engine of each run. */
async function testEngines(runs: object, ...args: string[]): Promise<{ code: number; output: string }> {
  await writeFile(join(folder, 'test/servers/engines.json'), JSON.stringify(runs))
  await writeFile(
    join(folder, 'node_modules/vitest/vitest.mjs'),
    `const { says, code } = ${JSON.stringify(runs)}[process.env.SLUICE_ENGINE]
    console.log(process.argv.slice(2).join(' ') + ', server ' + process.env.SLUICE_REDIS_SERVER)
    console.log(says)
    process.exitCode = code`,
  )
  const env = { ...process.env, SLUICE_REDIS_SERVER: '/some/server' }
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'scripts/test-engines.mjs'), ...args], { env }, (error, stdout) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout })
    })
  })
}
