import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { guide, nav, sidebar } from '../docs/.vitepress/navigation.ts'
import { pageOf, siteLink, sitePath } from '../docs/.vitepress/site-path.ts'
import packageJson from '../package.json' with { type: 'json' }
import tsconfig from '../tsconfig.json' with { type: 'json' }

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** Every page that is written by hand. */
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'src', 'examples', 'bench'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => path.endsWith('.md') && !path.startsWith('docs/api/')),
  ),
].filter((page) => page !== 'docs/index.md')
const links = linksOf(guide)

describe('the sidebar', () => {
  it('has at most 40 links in six groups, each link once', () => {
    expect(guide.map(({ text }) => text)).toEqual(['Start', 'Limits', 'Frameworks', 'Redis', 'Operate', 'Reference'])
    expect(links.length).toBeLessThanOrEqual(40)
    expect(new Set(links).size).toBe(links.length)
  })

  it('links to no page that does not exist', () => {
    const known = ['/api/', ...pages.map((page) => siteLink(sitePath(page)))]
    expect(links.filter((link) => !known.includes(link))).toEqual([])
  })

  it('leads to every page, in at most two steps from a page that it links to', () => {
    const reached = new Set(pages.filter((page) => links.includes(siteLink(sitePath(page)))))
    expect(reached.size).toBeGreaterThan(30)
    for (let step = 1; step <= 2; step++)
      for (const page of [...reached]) for (const next of linkedPages(page)) reached.add(next)
    expect(pages.filter((page) => !reached.has(page))).toEqual([])
  })

  it('of the reference has every entry of the package', () => {
    const entries = Object.keys(tsconfig.compilerOptions.paths)
    expect(linksOf(sidebar['/api/'])).toEqual(['/api/', ...entries.map((name) => `/api/${name}`), '/start'])
  })

  it('has a page for every rule and framework, and a page for every drop-in store is reached', () => {
    const rules = readdirSync(join(root, 'src/rules'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    expect(links).toEqual(expect.arrayContaining(rules.map(({ name }) => `/rules/${name}`)))
    const adapters = Object.values(tsconfig.compilerOptions.paths).flatMap(
      ([file]) => /adapters\/([^/]+)\//.exec(file as string)?.[1] ?? [],
    )
    const isDropIn = (name: string) => /-(rate-limit|rate-limiter|throttler)$/.test(name)
    // `node:http` is a part of the page about fetch.
    const frameworks = adapters.filter((name) => !isDropIn(name) && name !== 'node')
    expect(frameworks).toContain('express')
    expect(links).toEqual(expect.arrayContaining(frameworks.map((name) => `/${name}`)))
    expect(pages).toEqual(expect.arrayContaining(adapters.filter(isDropIn).map((name) => `docs/from-${name}.md`)))
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

describe('a page of the guide', () => {
  it.each(pages.filter((page) => /^(docs|src)\//.test(page)))('%s starts with what it does, in a sentence', (page) => {
    const [, start = ''] = /^# .+\n\n(.+)\n/.exec(read(page)) ?? []
    expect(start).toMatch(/^[`\w].*[\w.:,`)]$/)
    expect(start).not.toMatch(/^```/)
  })
})

describe('a file of the repository', () => {
  it.each([
    ['docs/clients.md', '/clients'],
    ['docs/index.md', '/'],
    ['README.md', '/overview'],
    ['CHANGELOG.md', '/changelog'],
    ['src/rules/sliding-log/sliding-log.md', '/rules/sliding-log'],
    ['examples/socket-io/README.md', '/examples/socket-io'],
    ['bench/results/accuracy.md', '/results/accuracy'],
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

describe('a command of a page', () => {
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

/** The pages that a page links to. */
function linkedPages(page: string): string[] {
  const paths = [...read(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path as string)
  const targets = paths.map((path) => relative(root, join(root, dirname(page), path)))
  return targets.filter((target) => pages.includes(target))
}

function linksOf(items: typeof guide): string[] {
  return items.flatMap(({ link, items: below = [] }) => [...(link === undefined ? [] : [link]), ...linksOf(below)])
}
