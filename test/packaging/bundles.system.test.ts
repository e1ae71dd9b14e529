import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as commonjsPlugin from '@rollup/plugin-commonjs'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build } from 'esbuild'
import { type Plugin, rollup } from 'rollup'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import webpack from 'webpack'
import { type InstalledPackage, installPackage } from './installed-package.ts'
import { output } from './run.ts'

// Its types are those of a CommonJS module, which it is not here.
const { default: commonjs } = commonjsPlugin as unknown as { default: () => Plugin }

let installed: InstalledPackage
let entry: string
beforeAll(async () => {
  installed = await installPackage()
  entry = join(installed.folder, 'bundled.mjs')
  await writeFile(entry, SOURCE)
})
afterAll(() => installed?.remove())

const SOURCE = `
import { createLimiter, slidingWindow } from 'sluice'
import { rateLimit } from 'sluice/express'
import { redisStore } from 'sluice/redis'
const limiter = createLimiter({ name: 'api', rule: slidingWindow({ limit: 1, window: 60_000 }) })
const client = { call() {}, createBuiltinCommand() {}, connect() {}, on() {}, isCluster: false, status: 'wait' }
const made = [typeof rateLimit({ limiter }), typeof redisStore(client).decide]
Promise.all([limiter.consume('ada'), limiter.consume('ada')]).then((decisions) =>
  console.log(...made, ...decisions.map(({ allowed }) => allowed)),
)
`

const bundlers: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  esbuild: (folder) =>
    build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'cjs', outfile: join(folder, 'app.cjs') }),
  rollup: async (folder) => {
    const plugins = [nodeResolve({ preferBuiltins: true }), commonjs()]
    const bundle = await rollup({ input: entry, external: [/^node:/], plugins })
    await bundle.write({ file: join(folder, 'app.cjs'), format: 'cjs' })
  },
  webpack: (folder) =>
    new Promise<void>((resolve, reject) => {
      const options = {
        mode: 'production',
        target: 'node20',
        entry,
        output: { path: folder, filename: 'app.cjs' },
      } as const
      webpack(options, (error, stats) => {
        if (error === null && stats?.hasErrors() === false) resolve()
        else reject(error ?? new Error(stats?.toString('errors-only')))
      })
    }),
}

it('npm ls is clean in the project that is bundled', async () => {
  const tree = await output('npm', ['ls', '--all'], installed.folder)
  expect(tree).toContain('sluice@')
  expect(tree).not.toMatch(/invalid|extraneous|UNMET (?!OPTIONAL)/)
})

it.each(Object.entries(bundlers))('a bundle by %s runs from an empty folder', async (_, bundle) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bundle-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await bundle(folder)
  expect(await output(process.execPath, ['app.cjs'], folder)).toBe('function function true false\n')
})
