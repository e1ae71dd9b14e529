import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { missingIn, ROOT, ruleFolders } from '../../scripts/rules/folders.mjs'

// In a copy of the repository: the command writes where it stands.

const copy = mkdtempSync(join(tmpdir(), 'sluice-new-rule-'))
const COPIED = ['bench', 'docs', 'scripts', 'src', 'test']
const SKIPPED = /(?:^|\/)(?:node_modules|dist|results|pictures)$/

beforeAll(() => {
  const isCopied = (path: string): boolean => !SKIPPED.test(relative(ROOT, path))
  const files = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isFile())
  for (const name of [...COPIED, ...files.map((entry) => entry.name)])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true, filter: isCopied })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
})
afterAll(() => rmSync(copy, { recursive: true }))

/** What a program of the copy says, and how it ends. */
function ran(file: string, ...args: string[]): { code: number | null; out: string; err: string } {
  const { PATH, HOME } = process.env
  const options = { cwd: copy, encoding: 'utf8', env: { PATH, HOME } } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(copy, file), ...args], options)
  return { code: status, out: stdout, err: stderr }
}
const newRule = (...args: string[]) => ran('scripts/new-rule.mjs', ...args)
const read = (path: string): string => readFileSync(join(copy, path), 'utf8')
const testsSay = (): string =>
  ran('node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', 'test/rule-folders', '--reporter=json').out

const BAD = ['Cooldown', 'cool_down', '-cool', 'cool--down', '../cool', '1st', 'x'.repeat(41)]
const SHAPE = 'a name is at most 40 lower-case letters and digits with hyphens between words, such as quiet-time'
const REFUSED: readonly (readonly [args: readonly string[], problem: string])[] = [
  [[], 'a rule needs a name, such as npm run new-rule -- cooldown'],
  [['one', 'two'], 'one name at a time, such as npm run new-rule -- cooldown'],
  ...BAD.map((name) => [[name], `${SHAPE}, got "${name}"`] as const),
  [['token-bucket'], 'there is a rule token-bucket already, in src/rules/token-bucket'],
  [['gcra'], 'the name gcra is taken already: choose another one'],
  [['create-limiter'], 'the name createLimiter is taken already: choose another one'],
  [['tiers'], 'the name tiers is that of a script: choose another one'],
  [['default'], 'a function cannot be called default: choose another name'],
]

describe('npm run new-rule refuses', () => {
  it.each(REFUSED)('%j', (args, problem) => {
    expect(newRule(...args)).toEqual({ code: 2, out: '', err: `new-rule: ${problem}\n` })
    expect(ruleFolders(copy)).toEqual(ruleFolders())
  })
})

describe('npm run new-rule quiet-time', () => {
  let said: ReturnType<typeof newRule>
  beforeAll(() => {
    said = newRule('quiet-time')
  })

  it('writes the folder, one line, and all that follows from it', () => {
    expect(said).toMatchObject({ code: 0, err: '' })
    const line = "export * from './quiet-time/quiet-time.ts'\n"
    expect(read('src/rules/index.ts').replace(line, '')).toBe(readFileSync(join(ROOT, 'src/rules/index.ts'), 'utf8'))
    expect(read('src/rules/index.ts')).toContain(line)
    for (const [file, text] of [
      ['src/rules/forms.ts', './quiet-time/quiet-time.form.ts'],
      ['src/rules/worked-examples.ts', './quiet-time/quiet-time.examples.ts'],
      ['docs/policies-file.md', '| `quiet-time` '],
      ['docs/lua.md', '| `quiet-time.lua`'],
    ] as const)
      expect(read(file)).toContain(text)
    const names = Object.keys(JSON.parse(read('src/stores/redis/lua/manifest.json')))
    expect(names).toEqual([...ruleFolders(copy), 'sluice', 'tiers'])
  })

  it('says what is left to write, file by file', () => {
    const left = missingIn('quiet-time', copy)
    for (const place of left) expect(said.out).toContain(`  ${place}\n`)
    const files = left.map((place) => /quiet-time\/quiet-time(\.[a-z.]+):\d+: /.exec(place)?.[1])
    const [open, complete] = [['.ts', '.memory.ts', '.lua', '.form.ts', '.examples.ts', '.promises.ts'], ['.test.ts']]
    expect([...new Set(files)]).toEqual([...open, '.samples.ts', '.md'])
    for (const ending of complete) expect(read(`src/rules/quiet-time/quiet-time${ending}`)).not.toContain('FILL IN')
  })

  it('writes what compiles, and what Biome and StyLua leave as it is', () => {
    const include = ['src/rules', 'test/rule-*.ts']
    writeFileSync(join(copy, 'tsconfig.rules.json'), JSON.stringify({ extends: './tsconfig.json', include }))
    expect(ran('node_modules/typescript/bin/tsc', '-p', 'tsconfig.rules.json')).toEqual({ code: 0, out: '', err: '' })
    expect(ran('node_modules/@biomejs/biome/bin/biome', 'check', 'src/rules').code).toBe(0)
    const stylua = join(copy, 'node_modules/.bin/stylua')
    expect(spawnSync(stylua, ['--check', 'src/rules'], { cwd: copy }).status).toBe(0)
  })

  it('leaves a test red that names every place, and green when nothing is left', () => {
    const before = JSON.parse(testsSay())
    expect(before.numFailedTests).toBe(1)
    const [failed] = before.testResults[0].assertionResults.filter(
      ({ status }: { status: string }) => status === 'failed',
    )
    expect(failed.title).toBe(
      'quiet-time has all its files, its line in src/rules/index.ts, and nothing left to fill in',
    )
    for (const place of missingIn('quiet-time', copy)) expect(failed.failureMessages.join()).toContain(place)
    for (const file of readdirSync(join(copy, 'src/rules/quiet-time'))) {
      const path = `src/rules/quiet-time/${file}`
      writeFileSync(join(copy, path), read(path).replaceAll('FILL IN: ', ''))
    }
    expect(JSON.parse(testsSay())).toMatchObject({ numFailedTests: 0, success: true })
  })

  it('names a file and a line that are missing', () => {
    rmSync(join(copy, 'src/rules/quiet-time/quiet-time.samples.ts'))
    writeFileSync(join(copy, 'src/rules/index.ts'), readFileSync(join(ROOT, 'src/rules/index.ts')))
    expect(missingIn('quiet-time', copy)).toEqual([
      "src/rules/index.ts lacks the line export * from './quiet-time/quiet-time.ts'",
      'src/rules/quiet-time/quiet-time.samples.ts is missing: how the tests of all rules make this one',
    ])
    expect(JSON.parse(testsSay()).numFailedTests).toBeGreaterThanOrEqual(2)
  })
})
