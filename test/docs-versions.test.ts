import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

// The page says which versions are tested: it must not stay behind what is installed.

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}
const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const page = read('docs/versions.md')
const folders = ['', ...['nestjs-10', 'nestjs-11'].map((name) => `test/${name}/`)]
const compilers = ['4.7', '4.9', '5.0', '5.4', '5.9'].map((name) => `test/typescript/${name}/`)

/** A package under its own name, and the version that one of the manifests has of it. */
const installed = [...folders, ...compilers].flatMap((folder) => {
  const { dependencies, devDependencies } = JSON.parse(read(`${folder}package.json`)) as Manifest
  return Object.entries({ ...dependencies, ...devDependencies }).map(([name, range]) => {
    const [, real = name, version = range] = /^npm:(.+)@([\d.]+)$/.exec(range) ?? []
    return [real, version] as const
  })
})
const NAMED = [
  ...['express', 'fastify', 'hono', 'koa', '@nestjs/core', 'ioredis', 'redis', 'iovalkey', '@valkey/valkey-glide'],
  ...['express-rate-limit', '@fastify/rate-limit', 'hono-rate-limiter', '@nestjs/throttler'],
  ...['prom-client', '@opentelemetry/api', 'typescript', 'bun', 'deno', 'workerd'],
]
// They are installed to be refused.
const REFUSED = ['ioredis 4.31.0', 'redis 3.1.2']
const cells = page.split('\n').map((row) => row.split('|'))
const rejected = cells.map(([, , , , cell = '']) => cell).join('\n')
const withoutRejected = cells.map(([first, ...rest]) => [first, ...rest.slice(0, 3)].join('|')).join('\n')

it.each(NAMED)('docs/versions.md names the versions of %s that are tested, and no others', (name) => {
  const tested = new Set(installed.filter(([real]) => real === name).map(([, version]) => `${name} ${version}`))
  for (const refused of REFUSED) tested.delete(refused)
  const said = new Set(withoutRejected.match(new RegExp(`(?<![\\w/-])${name} \\d+\\.\\d+\\.\\d+`, 'g')))
  expect(said).toEqual(tested)
})

it('docs/versions.md says of the versions that are refused that they are', () => {
  for (const refused of REFUSED) expect(rejected).toContain(`${refused} and older`)
})
