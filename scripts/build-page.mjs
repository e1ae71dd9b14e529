// Bundles what `sluice serve` shows in the browser into dist/page: everything local, nothing inline, names that never change.

import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'tsdown'
import { thirdPartyLicences } from './third-party-licences.mjs'

const MOST_BYTES = 100_000

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const source = join(root, 'page')
const target = join(root, 'dist', 'page')

await rm(target, { recursive: true, force: true })
await mkdir(target, { recursive: true })
await build({
  config: false,
  cwd: root,
  entry: { page: join(source, 'main.tsx') },
  tsconfig: join(source, 'tsconfig.json'),
  outDir: target,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  deps: { alwaysBundle: [/./], onlyBundle: false },
  minify: true,
  dts: false,
  sourcemap: false,
  clean: false,
  outExtensions: () => ({ js: '.js' }),
  logLevel: 'error',
  plugins: [thirdPartyLicences()],
})
await writeFile(join(target, 'page.css'), await styles())
for (const file of ['index.html', 'icon.svg']) await cp(join(source, file), join(target, file))

const program = await readFile(join(target, 'page.js'))
const size = gzipSync(program).length
if (/from *["']node:/.test(`${program}`))
  throw new Error('dist/page/page.js imports a module of Node, which no browser has')
if (size > MOST_BYTES) throw new Error(`dist/page/page.js must stay below ${MOST_BYTES} bytes gzipped, got ${size}`)
if (process.argv.includes('--size')) console.info(`dist/page/page.js: ${program.length} bytes, ${size} gzipped`)

/** The chart library's own style sheet, then ours in the order of their names. */
async function styles() {
  const names = (await readdir(join(source, 'styles'))).sort()
  const files = [
    createRequire(join(source, 'package.json')).resolve('uplot/dist/uPlot.min.css'),
    ...names.map((name) => join(source, 'styles', name)),
  ]
  return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n')
}
