import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import ts from 'typescript'
import { afterAll, describe, expect, it, vi } from 'vitest'

// Every block of TypeScript or JavaScript in the pages is compiled, and run unless its fence says so: ```ts compile.
// Where a page says what console.log prints (`console.log(x) // 5`), the block must print it.

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = join(root, '.cache', 'docs-code')
const FENCE = /```(ts|m?js)( compile)?\n([\s\S]*?)```/g
const PRINTS = /console\.log\(.*\) \/\/ (.+)$/gm

interface Block {
  readonly title: string
  readonly file: string
  readonly source: string
  readonly runs: boolean
}

const blocks = pages().flatMap(blocksOf)
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const { file, source } of blocks) writeFileSync(file, source)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('finds the code of the pages', () => {
  expect(blocks.length).toBeGreaterThan(10)
})

it('compiles every block', () => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const program = ts.createProgram(
    [...blocks.map((block) => block.file), join(root, 'src/stores/redis/sluice-scripts.d.ts')],
    { ...options, allowJs: true, noUnusedLocals: false, isolatedDeclarations: false, experimentalDecorators: true },
  )
  const problems = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const block = blocks.find((candidate) => candidate.file === file?.fileName)
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1
    return `${block?.title ?? file?.fileName}, line ${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
  expect(problems).toEqual([])
  // The types of all frameworks are read on the way.
}, 180_000)

describe('runs', () => {
  it.each(blocks.filter((block) => block.runs))('$title', async ({ file, source }) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    await import(file)
    const printed = log.mock.calls.map((values) =>
      values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' '),
    )
    log.mockRestore()
    const promised = [...source.matchAll(PRINTS)].map((match) => match[1])
    expect(printed.filter((line) => promised.includes(line))).toEqual(promised)
  })
})

function pages(): string[] {
  const everywhere = ['docs', 'src', 'examples'].flatMap((name) =>
    readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).map((path) => join(root, name, path)),
  )
  // The API reference is made of the types: what it shows of them is no program.
  const isWritten = (path: string) => path.endsWith('.md') && !path.startsWith(join(root, 'docs/api'))
  return [join(root, 'README.md'), ...everywhere.filter(isWritten)]
}

function blocksOf(page: string): Block[] {
  const name = relative(root, page)
  return [...readFileSync(page, 'utf8').matchAll(FENCE)].map(([, language, compileOnly, source], index) => ({
    title: `${name}, block ${index + 1}`,
    file: join(folder, `${name.replaceAll(/\W/g, '-')}-${index + 1}.${language}`),
    source: source as string,
    runs: compileOnly === undefined,
  }))
}
