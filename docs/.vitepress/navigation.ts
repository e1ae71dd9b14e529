import { readdirSync, readFileSync } from 'node:fs'
import type { DefaultTheme } from 'vitepress'
import tsconfig from '../../tsconfig.json' with { type: 'json' }

type Item = DefaultTheme.SidebarItem

/** The links at the top of every page. */
export const nav: DefaultTheme.NavItem[] = [
  { text: 'Start', link: '/start' },
  { text: 'Rules', link: '/choose-a-rule' },
  { text: 'Frameworks', link: '/http' },
  { text: 'Redis', link: '/redis' },
  { text: 'Compare', link: '/compare' },
  { text: 'API', link: '/api/' },
]

/** At most 40 links in six groups. Every other page is linked from one of these. */
export const guide: Item[] = [
  group('Start', [
    ['Five minutes', '/start'],
    ['Choose a rule', '/choose-a-rule'],
    ['Compare, and move here', '/compare'],
    ['Examples', '/examples'],
  ]),
  group('Limits', [
    ['The limiter', '/limiter'],
    ...rulePages(),
    ['Tiers: several limits', '/tiers'],
    ['Budgets: reserve and settle', '/budgets'],
    ['Waiting for a turn', '/waiting'],
    ['A rule per customer', '/resolve-rule'],
    ['Blocks, refunds, retries', '/blocking'],
  ]),
  group('Frameworks', [
    ['What all share', '/http'],
    ['Express', '/express'],
    ['Fastify', '/fastify'],
    ['NestJS', '/nestjs'],
    ['Hono', '/hono'],
    ['Koa', '/koa'],
    ['Next.js, fetch, node:http', '/fetch'],
    ['Bun, Deno, Workers', '/runtimes'],
    ['WebSockets, Socket.IO', '/websockets'],
  ]),
  group('Redis', [
    ['The Redis store', '/redis'],
    ['Prefetch: hot keys', '/prefetch'],
    ['When Redis fails', '/faults'],
    ['Operating Redis', '/operations'],
    ['The Lua scripts', '/lua'],
  ]),
  group('Operate', [
    ['Command line', '/cli'],
    ['Service and dashboard', '/serve'],
    ['In front of your application', '/gateways'],
    ['Policies file', '/policies-file'],
    ['Metrics, traces, events', '/observability'],
  ]),
  group('Reference', [
    ['API', '/api/'],
    ['Errors and warnings', '/errors'],
    ['Memory store, your own store', '/stores'],
    ['Time and tests', '/time'],
  ]),
]

/** The reference has a page for each entry of the package, and its own sidebar. */
const reference: Item[] = [
  group('API', [
    ['All names', '/api/'],
    ...Object.keys(tsconfig.compilerOptions.paths).map((name) => [name, `/api/${name}`] as const),
  ]),
  group('Guide', [['All pages', '/start']]),
]

export const sidebar: Record<'/' | '/api/', Item[]> = { '/api/': reference, '/': guide }

type Entry = readonly [text: string, link: string]

/** The page of every rule, under its own title: first those that most people read first, then all others. */
function rulePages(): readonly Entry[] {
  const first = ['sliding-window', 'token-bucket', 'fixed-window', 'strict-window', 'sliding-log', 'leaky-bucket']
  const folder = new URL('../../src/rules/', import.meta.url)
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  return [...new Set([...first, ...names.sort()])].map((name) => {
    const page = readFileSync(new URL(`${name}/${name}.md`, folder), 'utf8')
    return [/^# (.+)$/m.exec(page)?.[1] ?? name, `/rules/${name}`]
  })
}

function group(text: string, entries: readonly Entry[]): Item {
  return { text, collapsed: false, items: entries.map(([title, link]) => ({ text: title, link })) }
}
