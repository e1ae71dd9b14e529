import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join, posix } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { assemble } from '../../scripts/lua/assemble.mjs'
import { minify } from '../../scripts/lua/minify.mjs'
import { composePoliciesSchema } from '../../src/policies/policies-schema.ts'
import { getScript, listScripts } from '../../src/stores/redis/script-catalog.ts'
import tsdownConfig from '../../tsdown.config.ts'
import { type InstalledPackage, installPackage } from './installed-package.ts'
import { ROOT } from './pack.ts'
import { output } from './run.ts'
import { type Compiled, compileConsumers, type Project } from './typed-consumer.ts'

// npm and tsc take seconds where tests take milliseconds.
const SLOW_MS = 60_000

// Made of NestJS' own decorators and exceptions, of OpenTelemetry's API, and of prom-client's counters.
const STAND_ON_PEERS = ['./nestjs', './otel', './prometheus']

let installed: InstalledPackage

beforeAll(async () => {
  installed = await installPackage()
}, SLOW_MS)

afterAll(() => installed?.remove())

const runScript = (script: string, ...args: string[]) =>
  output(process.execPath, [join(installed.folder, script), ...args], installed.folder)

const decision = {
  limit: 2,
  retryAfterMs: 0,
  resetAfterMs: 1_000,
  delayMs: 0,
  decidedBy: 'memory',
  wouldRefuse: [],
  tiers: {},
}
const EXPECTED = [
  { ...decision, allowed: true, remaining: 1, nextAfterMs: 1_000 },
  { ...decision, allowed: true, remaining: 0, nextAfterMs: 1_000 },
  { ...decision, allowed: false, remaining: 0, retryAfterMs: 1_000, limitedBy: 'consumer', reason: 'limit' },
  { ...decision, allowed: true, remaining: 1, nextAfterMs: 1_000 },
]

describe('the tarball', () => {
  it('holds what was built and the documents, and nothing else', () => {
    const besidesDist = installed.files.filter((file) => !file.startsWith('dist/'))
    const documents = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'grafana/sluice.json', 'package.json']
    expect(besidesDist.sort()).toEqual(documents)
  })

  it('holds every file that package.json points to', () => {
    const { './lua/*.lua': _, ...exported } = manifest.exports
    const targets = [manifest.main, manifest.module, manifest.types, ...leaves(exported)]
    const missing = targets.filter((target) => !installed.files.includes(target.slice('./'.length)))
    expect(missing).toEqual([])
  })

  it('holds every version of every script as a file that people read, the newest under its name alone', () => {
    const texts = listScripts().map((script) => {
      const { name, version } = script
      const file = `dist/lua/${script === getScript(name) ? name : `${name}@${version}`}.lua`
      const text = readFileSync(join(installed.folder, 'node_modules/sluice', file), 'utf8')
      expect(text).toContain('\n-- KEYS[1..n')
      expect(minify(text)).toBe(script.source)
      return file
    })
    expect(installed.files.filter((file) => file.startsWith('dist/lua/')).sort()).toEqual(texts.sort())
  })

  it('holds the JSON Schema of files of policies, as the code that reads them says', () => {
    const text = readFileSync(join(installed.folder, 'node_modules/sluice/dist/policies.schema.json'), 'utf8')
    expect(text).toBe(JSON.stringify(composePoliciesSchema()))
  })

  it('has 130 kB at most of redisStore, of which half is scripts', () => {
    expect(statSync(join(installed.folder, 'node_modules/sluice/dist/redis.mjs')).size).toBeLessThanOrEqual(130_000)
  })

  it('takes 3 MB at most once it is installed', () => {
    const sizes = installed.files.map((file) => statSync(join(installed.folder, 'node_modules/sluice', file)).size)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(3_000_000)
  })

  it('says nothing about the machine that built it', () => {
    const revealing = installed.files.filter((file) => {
      const text = readFileSync(join(installed.folder, 'node_modules/sluice', file), 'utf8')
      return text.includes(ROOT.slice(0, -1)) || /file:\/\/\/|\/home\/|\/Users\/|[A-Z]:\\\\/.test(text)
    })
    expect(revealing).toEqual([])
  })

  it('brings no other package with it', () => {
    const packages = readdirSync(join(installed.folder, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(packages).toEqual(['sluice'])
  })
})

describe('the exports', () => {
  it('are the entries of the build, each with types for both kinds of module', () => {
    const exported: Record<string, unknown> = {
      './lua/*.lua': './dist/lua/*.lua',
      './package.json': './package.json',
      './policies.schema.json': './dist/policies.schema.json',
    }
    for (const entry of Object.keys(tsdownConfig.entry as Record<string, string>)) {
      exported[entry === 'index' ? '.' : `./${entry}`] = {
        import: { types: `./dist/${entry}.d.mts`, default: `./dist/${entry}.mjs` },
        require: { types: `./dist/${entry}.d.cts`, default: `./dist/${entry}.cjs` },
      }
    }
    expect(manifest.exports).toEqual(exported)
  })

  // A process each: a build whose chunks load each other in a circle works or fails with what was loaded first.
  const subpaths = Object.keys(manifest.exports).filter(
    (path) => !/\.\w+$/.test(path) && !STAND_ON_PEERS.includes(path),
  )
  it.each(subpaths)('%s loads with no framework present, with the same names for ESM and CommonJS', async (subpath) => {
    const { esm, cjs } = JSON.parse(await runScript('exported-names.mjs', posix.join('sluice', subpath)))
    expect(esm).not.toEqual([])
    expect(cjs).toEqual(esm)
  })
})

describe('the command line', () => {
  it('is the program of the package, and stands on nothing but what it brought', async () => {
    const program = join(installed.folder, 'node_modules', '.bin', 'sluice')
    expect(await output(program, ['--version'], installed.folder)).toBe(`${manifest.version}\n`)
    expect(await output(program, ['scripts', 'print', 'fixed-window'], installed.folder)).toBe(
      assemble('fixed-window', getScript('fixed-window').version),
    )
  })

  it.each([
    ['cli', 'commander'],
    ['page', 'uplot'],
  ])('says whose code is bundled in %s, and SECURITY.md says the same', (folder, name) => {
    const home = join(installed.folder, 'node_modules/sluice')
    const licences = readFileSync(join(home, 'dist', folder, 'third-party-licences.txt'), 'utf8')
    const bundled = licences.split('\n\n----\n\n').map((text) => text.split('\n')[0])
    expect(bundled).toContainEqual(expect.stringMatching(new RegExp(`^${name} \\d`)))
    const [, said = ''] =
      new RegExp(`^\\| \`dist/${folder}\` +\\| (.*?) +\\|$`, 'm').exec(
        readFileSync(join(home, 'SECURITY.md'), 'utf8'),
      ) ?? []
    expect(said.split(', ')).toEqual(bundled)
  })
})

describe('a consumer', () => {
  it.each(['decisions.mjs', 'decisions.cjs'])('gets the decisions of the rule in %s', async (script) => {
    expect(JSON.parse(await runScript(script))).toEqual(EXPECTED)
  })

  // Jest before 28 gives tests no `crypto`.
  it('decides where the global crypto is missing', async () => {
    const without = ['--eval', "delete globalThis.crypto; require('./decisions.cjs')"]
    expect(JSON.parse(await output(process.execPath, without, installed.folder))).toEqual(EXPECTED)
  })

  const source = 'typed'
  const kinds: Project[] = [
    { name: 'an ESM package', type: 'module', compilerOptions: { module: 'nodenext' }, source },
    { name: 'a CommonJS package', type: 'commonjs', compilerOptions: { module: 'nodenext' }, source },
    { name: 'a bundler', type: 'module', compilerOptions: { module: 'esnext', moduleResolution: 'bundler' }, source },
  ]
  // With and without the types of the browser, and nowhere those of Node.
  const libs = { 'the default lib': {}, 'lib es2022': { lib: ['es2022'] } }
  const projects = kinds.flatMap((kind) =>
    Object.entries(libs).map(([libName, lib]) => ({
      ...kind,
      name: `${kind.name} with ${libName}`,
      compilerOptions: { ...kind.compilerOptions, ...lib },
    })),
  )

  describe('in TypeScript', () => {
    let compiled: readonly Compiled[]
    beforeAll(async () => {
      compiled = await compileConsumers(installed.folder, projects)
    })

    it.each(projects.map(({ name }, index) => [name, index] as const))(
      'compiles strictly and runs as %s',
      async (_, index) => {
        const { errors, script } = compiled[index] as Compiled
        expect(errors).toEqual([])
        expect(JSON.parse(await output(process.execPath, [script], installed.folder))).toEqual(EXPECTED)
      },
    )
  })

  describe('beside the frameworks', () => {
    const types = ['module', 'commonjs'] as const
    let compiled: readonly Compiled[]
    beforeAll(async () => {
      lend('express', 'fastify', 'hono', 'koa', '@types')
      const compilerOptions = { module: 'nodenext', ...FRAMEWORK_OPTIONS }
      const withTypes = (type: (typeof types)[number]): Project => ({
        ...{ name: `frameworks ${type}`, type, compilerOptions, source: 'frameworks' },
      })
      compiled = await compileConsumers(installed.folder, types.map(withTypes))
    })

    it.each(types.map((type, index) => [type, index] as const))(
      'compiles against their types, as type %s',
      (_, index) => {
        expect(compiled[index]?.errors).toEqual([])
      },
    )

    it.each(['5.0', '5.4', '5.9'])('compiles against their types with TypeScript %s and node10', async (version) => {
      const compilerOptions = { module: 'commonjs', moduleResolution: 'node', lib: ['es2023'], ...FRAMEWORK_OPTIONS }
      const project: Project = { name: `node10 ${version}`, type: 'commonjs', compilerOptions, source: 'frameworks' }
      const [old] = await compileConsumers(installed.folder, [project], `test/typescript/${version}`)
      expect(old?.errors).toEqual([])
    })
  })

  it.each(STAND_ON_PEERS)('loads %s where its peers are, with the same names for ESM and CommonJS', async (subpath) => {
    lend('@nestjs', '@opentelemetry', 'prom-client', 'reflect-metadata', 'rxjs')
    const { esm, cjs } = JSON.parse(await runScript('exported-names.mjs', posix.join('sluice', subpath)))
    expect(esm).not.toEqual([])
    expect(cjs).toEqual(esm)
  })
})

/** The compiler options that the types of the frameworks need. */
const FRAMEWORK_OPTIONS = { skipLibCheck: true, types: ['node'], esModuleInterop: true }

/** Lets the project have packages that this repository has, under its own roof. */
function lend(...names: string[]): void {
  for (const name of names) {
    const link = join(installed.folder, 'node_modules', name)
    if (!existsSync(link)) symlinkSync(join(ROOT, 'node_modules', name), link)
  }
}

function leaves(node: object | string): string[] {
  return typeof node === 'string' ? [node] : Object.values(node).flatMap(leaves)
}
