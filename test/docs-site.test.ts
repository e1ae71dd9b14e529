import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { nav, sidebar } from '../docs/.vitepress/navigation.ts'
import { pageOf, siteLink, sitePath } from '../docs/.vitepress/site-path.ts'
import packageJson from '../package.json' with { type: 'json' }
import { ON_STORE_FAILURE } from '../src/core/limit.ts'
import tsconfig from '../tsconfig.json' with { type: 'json' }

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Every page that somebody has written. */
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'src', 'examples', 'bench'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => path.endsWith('.md') && !path.startsWith('docs/api/')),
  ),
].filter((page) => page !== 'docs/index.md')
const links = linksOf(sidebar)
const [generated, written] = [true, false].map((isApi) => links.filter((link) => link.startsWith('/api/') === isApi))

describe('the sidebar', () => {
  it('has every page once, and no page that does not exist', () => {
    expect([...(written as string[])].sort()).toEqual(pages.map((page) => siteLink(sitePath(page))).sort())
  })

  it('has the reference of every entry of the package', () => {
    const entries = Object.keys(tsconfig.compilerOptions.paths)
    expect(generated).toEqual(['/api/', ...entries.map((name) => `/api/${name}`)])
  })

  it('has a page for every rule, framework, client, failure policy and example', () => {
    const folders = (path: string): string[] =>
      readdirSync(join(root, path), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
    // examples/start is what `npm start` runs, and the README's; docs/gateways.md prints examples/gateways.
    const examples = folders('examples').filter((name) => name !== 'start' && name !== 'gateways')
    // A framework has a page of its name, and a store for somebody else's limiter tells how to move from there.
    const adapters = Object.values(tsconfig.compilerOptions.paths)
      .flatMap(([file]) => /adapters\/([^/]+)\//.exec(file as string)?.[1] ?? [])
      .map((name) => (/-(rate-limit|rate-limiter|throttler)$/.test(name) ? `/from-${name}` : `/${name}`))
    expect(adapters).toContain('/express')
    expect(links).toEqual(
      expect.arrayContaining([
        ...folders('src/rules').map((name) => `/rules/${name}`),
        ...adapters,
        ...examples.map((name) => `/examples/${name}`),
        ...['ioredis', 'node-redis', 'iovalkey', 'valkey-glide'].map((name) => `/clients/${name}`),
        ...ON_STORE_FAILURE.map((name) => `/failure-policies/${name}`),
      ]),
    )
  })

  it('and the top of the page link to the same pages', () => {
    const [known, linked] = [[...links, '/'], nav.flatMap((item) => ('link' in item ? [String(item.link)] : []))]
    expect(linked.length).toBeGreaterThan(0)
    expect(linked.map((link) => link.replace(/#.*/, '')).filter((link) => !known.includes(link))).toEqual([])
  })

  it('is what the first page links to', () => {
    const [, matter = ''] = /^---\n([\s\S]*?)\n---/.exec(read('docs/index.md')) ?? []
    const linked = [...matter.matchAll(/link: ([^\s#]+)/g)].map(([, link]) => link)
    expect(linked.length).toBeGreaterThan(3)
    expect(linked.filter((link) => !links.includes(link as string))).toEqual([])
  })
})

describe('a file of the repository', () => {
  it.each([
    ['docs/clients/ioredis.md', '/clients/ioredis'],
    ['docs/index.md', '/'],
    ['README.md', '/overview'],
    ['CHANGELOG.md', '/changelog'],
    ['src/rules/sliding-log/sliding-log.md', '/rules/sliding-log'],
    ['examples/socket-io/README.md', '/examples/socket-io'],
    ['bench/results/hot-key.md', '/results/hot-key'],
    ['examples', '/examples'],
    ['bench/results', '/numbers'],
  ])('%s is found at %s', (source, link) => {
    expect(siteLink(pageOf(source) as string)).toBe(link)
  })

  it('that is no page has none', () => {
    expect(pageOf('LICENSE')).toBeUndefined()
  })

  it('has a place of its own', () => {
    const places = pages.map(sitePath)
    expect(new Set(places).size).toBe(places.length)
  })
})

describe('a command that a page tells to type', () => {
  const commands = pages.flatMap((page) =>
    [...read(page).matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
      block.split('\n').map((line) => [page, line] as const),
    ),
  )

  it('npm run has', () => {
    const scripts = commands.flatMap(([page, line]) =>
      [...line.matchAll(/npm (?:run (?:--silent )?)?([\w:-]+)/g)].map(([, name = '']) => [page, name] as const),
    )
    expect(scripts.length).toBeGreaterThan(10)
    const known = [...Object.keys(packageJson.scripts), 'ci', 'install', 'i']
    expect(scripts.filter(([, name]) => !known.includes(name))).toEqual([])
  })

  it('sluice has', () => {
    const program = read('src/cli/program.ts')
    const names = commands.flatMap(([page, line]) =>
      [...line.matchAll(/(?:^|npx |\| )sluice ([a-z]+)/g)].map(([, name = '']) => [page, name] as const),
    )
    const unknown = names.filter(([, name]) => !program.includes(`register${name[0]?.toUpperCase()}${name.slice(1)}`))
    expect(unknown).toEqual([])
  })
})

function linksOf(items: typeof sidebar): string[] {
  return items.flatMap(({ link, items: below = [] }) => [...(link === undefined ? [] : [link]), ...linksOf(below)])
}
