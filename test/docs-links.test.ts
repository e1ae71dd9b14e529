import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { headingId } from '../docs/.vitepress/heading-id.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const topLevel = readdirSync(root).filter((name) => name.endsWith('.md'))
const below = ['docs', 'src', 'bench'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
)
// The API reference is written by a program, and VitePress checks its links.
const pages = [...topLevel, ...below.filter((path) => path.endsWith('.md') && !path.startsWith('docs/api/'))]

it.each(pages)('%s links to what exists', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
  const broken = links.filter(([, path, anchor]) => {
    const target = path === '' ? page : relative(root, join(root, dirname(page), path as string))
    if (!existsSync(join(root, target))) return true
    return anchor !== undefined && !headings(target).includes(anchor)
  })
  expect(broken.map(([link]) => link)).toEqual([])
})

it('every error code has a section of its own', () => {
  const codes = [...read('src/core/limiter-error.ts').matchAll(/\| '([A-Z_]+)'/g)].map(([, code]) => code)
  expect(codes.length).toBeGreaterThan(0)
  expect([...read('docs/errors.md').matchAll(/^## ([A-Z_]+)$/gm)].map(([, code]) => code).sort()).toEqual(codes.sort())
})

it('every warning has a section of its own', () => {
  const codes = [...read('src/adapters/middleware/options.ts').matchAll(/\| '([A-Z_]+)'/g)].map(([, code]) => code)
  expect(codes.length).toBeGreaterThan(0)
  const [, ofLimiters] = /logWarning\(message, '([A-Z_]+)'/.exec(read('src/limiter/create-limiter.ts')) ?? []
  codes.push(`${ofLimiters}`)
  const ofStores = [...read('src/stores/failover/circuit-breaker.ts').matchAll(/#warn\('([A-Z_]+)'/g)].map(
    ([, code]) => code,
  )
  expect(ofStores).toHaveLength(2)
  codes.push(...ofStores.sort())
  const [, ofClients] =
    /logWarning\(message, '([A-Z_]+)'/.exec(read('src/stores/redis/clients/ioredis-errors.ts')) ?? []
  codes.push(`${ofClients}`)
  expect([...read('docs/warnings.md').matchAll(/^## ([A-Z_]+)$/gm)].map(([, code]) => code)).toEqual(codes)
})

function headings(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title]) => headingId(title as string))
}
