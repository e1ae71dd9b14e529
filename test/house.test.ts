import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')

/** What Biome says about a file at `path`, under the rules of this repository. */
function lint(path: string, source: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-house-'))
  try {
    const rules = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'))
    writeFileSync(join(folder, 'biome.json'), JSON.stringify({ ...rules, $schema: undefined, vcs: undefined }))
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), source)
    execFileSync(process.execPath, [biome, 'lint', '--colors=off', path], {
      cwd: folder,
      encoding: 'utf8',
      stdio: 'pipe',
    })
    return ''
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return stdout + stderr
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('the lint rules stop', () => {
  it.each([
    ['core', 'rules'],
    ['core', 'stores'],
    ['rules', 'stores'],
    ['rules', 'limiter'],
    ['stores', 'rules'],
    ['stores', 'limiter'],
    ['limiter', 'rules'],
    ['limiter', 'adapters'],
    ['http', 'limiter'],
    ['adapters', 'stores'],
    ['adapters', 'rules'],
    ['adapters', 'cli'],
    ['adapters/drop-in', 'stores'],
    ['core', 'testing'],
    ['simulate', 'limiter'],
    ['policies', 'stores'],
    ['observe', 'stores'],
    ['service', 'cli'],
    ['cli', 'page'],
    ['page', 'limiter'],
    ['limiter', 'observe'],
    ['rules', 'simulate'],
  ])('an import from %s into %s', (from, into) => {
    const source = `import { thing } from '../${into}/thing.ts'\n\nexport const copy: number = thing\n`
    expect(lint(`src/${from}/example.ts`, source)).toContain('lint/style/noRestrictedImports')
  })

  it.each(['Date.now()', 'performance.now()', 'new Date().getTime()'])('a clock read outside the clock: %s', (read) => {
    const source = `export const nowMs: number = ${read}\n`
    expect(lint('src/limiter/example.ts', source)).toContain('Only src/core/clock.ts reads the clock')
    expect(lint('src/core/clock.ts', source)).toBe('')
  })
})

describe('the lint rules allow', () => {
  it.each([
    ['rules', 'core'],
    ['stores', 'core'],
    ['limiter', 'stores'],
    ['adapters', 'http'],
    ['adapters', 'limiter'],
    ['adapters/drop-in', 'rules'],
    ['testing', 'rules'],
    ['simulate', 'rules'],
    ['policies', 'limiter'],
    ['observe', 'limiter'],
    ['service', 'observe'],
    ['cli', 'service'],
    ['page', 'simulate'],
  ])('an import from %s into %s', (from, into) => {
    const source = `import { thing } from '../${into}/thing.ts'\n\nexport const copy: number = thing\n`
    expect(lint(`src/${from}/example.ts`, source)).toBe('')
  })
})

describe('every rule', () => {
  const folder = join(root, 'src', 'rules')
  const rules = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())

  it.each(rules.map((entry) => entry.name))('%s has its files and is exported', (name) => {
    const files = readdirSync(join(folder, name))
    for (const ending of ['.ts', '.memory.ts', '.lua', '.form.ts', '.examples.ts', '.test.ts', '.md'])
      expect(files).toContain(name + ending)
    expect(readFileSync(join(folder, 'index.ts'), 'utf8')).toContain(`'./${name}/${name}.ts'`)
    expect(readFileSync(join(folder, 'worked-examples.ts'), 'utf8')).toContain(`'./${name}/${name}.examples.ts'`)
    expect(readFileSync(join(folder, 'forms.ts'), 'utf8')).toContain(`'./${name}/${name}.form.ts'`)
  })
})

describe('the lock file', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; resolved?: string; optionalDependencies?: Record<string, string> }>
  }

  it('names versions and no addresses', () => {
    // The folder of another NestJS is a part of this repository: linked, not fetched.
    const fetched = Object.entries(packages).filter(([path, entry]) => !('link' in entry) && path !== 'test/nestjs-11')
    const wrong = fetched.filter(([, entry]) => entry.resolved !== undefined || entry.version === undefined)
    expect(wrong).toEqual([])
  })

  it('names the programs of every platform, or npm ci would refuse it: npm run lockfile', () => {
    const biome = packages['node_modules/@biomejs/biome']
    const missing = Object.keys(biome?.optionalDependencies ?? {}).filter(
      (name) => packages[`node_modules/${name}`] === undefined,
    )
    expect(missing).toEqual([])
  })
})
