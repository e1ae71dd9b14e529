import { symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import tsconfig from '../../tsconfig.json' with { type: 'json' }
import { type InstalledPackage, installPackage } from './installed-package.ts'
import { ROOT } from './pack.ts'
import { output } from './run.ts'
import { type Compiled, compileConsumers, type Project } from './typed-consumer.ts'

// `moduleResolution: node`, which TypeScript also calls node10, does not read `exports`. Most applications that were begun before 2023
// have it, and so do ts-jest and `nest build` in them.

const SLOW_MS = 120_000
const entries = Object.keys(tsconfig.compilerOptions.paths)

let installed: InstalledPackage

beforeAll(async () => {
  installed = await installPackage()
  for (const name of ['@nestjs', '@opentelemetry', 'prom-client', 'reflect-metadata', 'rxjs']) {
    await symlink(join(ROOT, 'node_modules', name), join(installed.folder, 'node_modules', name))
  }
}, SLOW_MS)

afterAll(() => installed?.remove())

it('typesVersions has the types of every entry, and of nothing else: npm run exports', () => {
  const subpaths = entries.filter((name) => name !== 'sluice').map((name) => name.slice('sluice/'.length))
  expect(manifest.typesVersions).toEqual({
    '*': Object.fromEntries(subpaths.map((name) => [name, [`./dist/${name}.d.cts`]])),
  })
})

/** A file that imports every entry, and does not compile when one of them is any. */
const everyEntry = [
  'type Known<Module> = 0 extends 1 & Module ? never : Module',
  ...entries.flatMap((name, index) => [
    `import * as entry${index} from '${name}'`,
    `export const known${index}: Known<typeof entry${index}> = entry${index}`,
  ]),
].join('\n')

const versions = ['4.7', '4.9', '5.0', '5.4', '5.9']
const kinds = [
  { kind: 'CommonJS', type: 'commonjs', module: 'commonjs' },
  { kind: 'ESM', type: 'module', module: 'esnext' },
] as const

// Their types stand on those of a framework, or of Node, which may ask for more than an old compiler has.
const ON_TYPES_OF_OTHERS = ['express', 'fastify', 'hono', 'koa', 'nestjs', 'node', 'otel', 'prometheus']
const ownTypes = entries.filter((name) => !ON_TYPES_OF_OTHERS.includes(name.slice('sluice/'.length)))

describe.each(['5.0', '5.4', '5.9'])('with TypeScript %s, which checks the types of the package too,', (version) => {
  const kinds = [
    { module: 'commonjs', moduleResolution: 'node' },
    { module: 'nodenext', moduleResolution: 'nodenext' },
  ]
  it('a project of es2021 compiles', async () => {
    const projects = kinds.map(
      (kind): Project => ({
        name: `checked ${version} ${kind.module}`,
        type: 'commonjs',
        compilerOptions: { ...kind, target: 'es2021', lib: ['es2021'], skipLibCheck: false },
        source: 'typed',
        files: { 'own-types.ts': ownTypes.map((name, index) => `export * as entry${index} from '${name}'`).join('\n') },
      }),
    )
    const compiled = await compileConsumers(installed.folder, projects, `test/typescript/${version}`)
    expect(compiled.map(({ errors }) => errors)).toEqual([[], []])
  })
})

describe.each(versions)('with TypeScript %s, a project with moduleResolution: node', (version) => {
  const projects = kinds.map(
    ({ kind, type, module }): Project => ({
      name: `node10 ${version} ${kind}`,
      type,
      // No lib of es2023 in 4.7: what the types of others need is not this test's concern.
      compilerOptions: { module, moduleResolution: 'node', lib: ['es2022'], skipLibCheck: true },
      source: 'typed',
      files: { 'every-entry.ts': everyEntry },
    }),
  )
  let compiled: readonly Compiled[]
  beforeAll(async () => {
    compiled = await compileConsumers(installed.folder, projects, `test/typescript/${version}`)
  })

  it.each(kinds.map(({ kind }, index) => [kind, index] as const))(
    'compiles as %s, every entry, and runs',
    async (_, index) => {
      const { errors, script } = compiled[index] as Compiled
      expect(errors).toEqual([])
      expect(JSON.parse(await output(process.execPath, [script], installed.folder))).toHaveLength(4)
      await output(process.execPath, [join(dirname(script), 'every-entry.js')], installed.folder)
    },
  )
})
