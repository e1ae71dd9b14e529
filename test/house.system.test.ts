import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')

const STOPPED: readonly [from: string, into: string][] = [
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
]
const ALLOWED: readonly [from: string, into: string][] = [
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
]
const READS = ['Date.now()', 'performance.now()', 'new Date()']

// One run for all of them: to start Biome takes longer than to lint.
const told = lint({
  ...Object.fromEntries([...STOPPED, ...ALLOWED].map(([from, into]) => [importing(from, into), importOf(from, into)])),
  ...Object.fromEntries(READS.map((read, index) => [reading(index), `export const now: unknown = ${read}\n`])),
  'src/core/clock.ts': `export const times: unknown[] = [${READS.join(', ')}]\n`,
})

describe('the lint rules stop', () => {
  it.each(STOPPED)('an import from %s into %s', (from, into) => {
    expect(told(importing(from, into))).toEqual(['lint/style/noRestrictedImports'])
  })

  it.each(READS.map((read, index) => [read, index] as const))('a clock read outside the clock: %s', (_, index) => {
    expect(told(reading(index))).toEqual(['lint/style/noRestrictedGlobals'])
    expect(told('src/core/clock.ts')).toEqual([])
  })
})

describe('the lint rules allow', () => {
  it.each(ALLOWED)('an import from %s into %s', (from, into) => {
    expect(told(importing(from, into))).toEqual([])
  })
})

function importing(from: string, into: string): string {
  return `${folderOf(from)}/into-${into}.ts`
}

function importOf(from: string, into: string): string {
  const path = relative(folderOf(from), folderOf(into))
  return `import { thing } from '${path}/thing.ts'\n\nexport const copy: number = thing\n`
}

/** The page is a workspace of its own; every other room is a folder of `src`. */
function folderOf(room: string): string {
  return room === 'page' ? 'page' : `src/${room}`
}

function reading(index: number): string {
  return `src/limiter/reading-${index}.ts`
}

/** The rules that Biome says are broken in each of the files, by their paths, under the rules of this repository. */
function lint(sources: Readonly<Record<string, string>>): (path: string) => string[] {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-house-'))
  try {
    const rules = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'))
    writeFileSync(join(folder, 'biome.json'), JSON.stringify({ ...rules, $schema: undefined, vcs: undefined }))
    for (const [path, source] of Object.entries(sources)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), source)
    }
    const options = { cwd: folder, encoding: 'utf8' } as const
    const { stdout } = spawnSync(
      process.execPath,
      [biome, 'lint', '--reporter=json', '--max-diagnostics=none'],
      options,
    )
    const { diagnostics, summary } = JSON.parse(stdout) as Told
    expect(summary.unchanged).toBe(Object.keys(sources).length + 1)
    return (path) => diagnostics.filter(({ location }) => location.path === path).map(({ category }) => category)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Told {
  readonly diagnostics: readonly { readonly category: string; readonly location: { readonly path: string } }[]
  readonly summary: { readonly unchanged: number }
}

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
    // The workspaces are parts of this repository: linked, not fetched.
    const fetched = Object.entries(packages).filter(
      ([path, entry]) => !('link' in entry) && (path === '' || path.includes('node_modules/')),
    )
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
