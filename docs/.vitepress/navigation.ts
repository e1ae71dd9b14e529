import { readdirSync, readFileSync } from 'node:fs'
import type { DefaultTheme } from 'vitepress'
import tsconfig from '../../tsconfig.json' with { type: 'json' }

type Item = DefaultTheme.SidebarItem

/** What stands at the top of every page. */
export const nav: DefaultTheme.NavItem[] = [
  { text: 'Start', link: '/start' },
  { text: 'Rules', link: '/choose-a-rule' },
  { text: 'Frameworks', link: '/http' },
  { text: 'Redis', link: '/redis' },
  { text: 'Numbers', link: '/numbers' },
  { text: 'API', link: '/api/' },
]

/** The pages in the order in which one would read them. Every page is here. */
export const sidebar: Item[] = [
  group('Start', [
    ['Five minutes', '/start'],
    ['Choose a rule', '/choose-a-rule'],
    ['Overview', '/overview'],
    ['Examples', '/examples'],
    ['Versions', '/versions'],
  ]),
  group('Rules', rulePages()),
  group('Limits', [
    ['Several limits, one decision', '/tiers'],
    ['Budgets', '/budgets'],
    ['Waiting for a turn', '/waiting'],
    ['Limits by customer', '/policies'],
    ['Blocking', '/blocking'],
    ['Ids: count a retry once', '/ids'],
    ['Rolling out: the shadow', '/shadow'],
    ['Time', '/time'],
  ]),
  group('Frameworks', [
    ['What all have in common', '/http'],
    ['Express', '/express'],
    ['Fastify', '/fastify'],
    ['NestJS', '/nestjs'],
    ['Hono', '/hono'],
    ['Koa', '/koa'],
    ['Next.js, Bun, Deno, Workers', '/fetch'],
    ['node:http', '/node'],
    ['WebSockets, Socket.IO', '/websockets'],
  ]),
  group('Stores', [
    ['Memory', '/memory-store'],
    ['Redis', '/redis'],
    ['Your own', '/stores'],
  ]),
  group('Redis clients', [
    ['ioredis', '/clients/ioredis'],
    ['node-redis', '/clients/node-redis'],
    ['iovalkey', '/clients/iovalkey'],
    ['Valkey GLIDE', '/clients/valkey-glide'],
  ]),
  group('When Redis fails', [
    ['What happens, and what passes', '/faults'],
    ['fallback', '/failure-policies/fallback'],
    ['allow', '/failure-policies/allow'],
    ['refuse', '/failure-policies/refuse'],
    ['throw', '/failure-policies/throw'],
  ]),
  group('Redis operations', [
    ['Sizing', '/operations/sizing'],
    ['Access: the user’s ACL', '/operations/acl'],
    ['Full memory and eviction', '/operations/eviction'],
    ['Cluster', '/operations/cluster'],
    ['Script upgrades', '/operations/script-upgrades'],
    ['The Lua scripts', '/lua'],
  ]),
  group('Running it', [
    ['Command line', '/cli'],
    ['Simulate', '/simulate'],
    ['Policies file', '/policies-file'],
    ['The service', '/serve'],
    ['Its page in the browser', '/page'],
    ['Envoy’s rate limit service', '/envoy'],
    ['Metrics, traces, live view', '/observability'],
  ]),
  group('Moving here', [
    ['from express-rate-limit', '/from-express-rate-limit'],
    ['from @nestjs/throttler', '/from-nestjs-throttler'],
    ['from @fastify/rate-limit', '/from-fastify-rate-limit'],
    ['from hono-rate-limiter', '/from-hono-rate-limiter'],
    ['from rate-limiter-flexible', '/from-rate-limiter-flexible'],
  ]),
  group('Numbers', [
    ['All of them, with their commands', '/numbers'],
    ['Speed', '/speed'],
    ['Costs on Redis', '/redis-costs'],
    closed('Reports', [
      ['On Redis', '/results/redis'],
      ['The server', '/results/redis-server'],
      ['One hot key', '/results/hot-key'],
      ['An attack', '/results/attack'],
      ['One at a time', '/results/alone'],
      ['Tiers', '/results/tiers'],
      ['Growth', '/results/growth'],
      ['Accuracy', '/results/accuracy'],
      ['In memory', '/results/memory'],
      ['HTTP', '/results/http'],
      ['The service', '/results/serve'],
      ['Envoy’s rate limit service', '/results/serve-rls'],
    ]),
  ]),
  closed('Example applications', [
    ['Express', '/examples/express'],
    ['Fastify', '/examples/fastify'],
    ['NestJS', '/examples/nestjs'],
    ['Hono', '/examples/hono'],
    ['Koa', '/examples/koa'],
    ['Next.js', '/examples/next'],
    ['node:http', '/examples/node'],
    ['WebSocket', '/examples/websocket'],
    ['Socket.IO', '/examples/socket-io'],
    ['Chat, metered by tokens', '/examples/chat'],
  ]),
  group('Reference', [
    ['Error codes', '/errors'],
    ['Warnings', '/warnings'],
    closed('API, from the types', [
      ['All entries', '/api/'],
      ...Object.keys(tsconfig.compilerOptions.paths).map((name) => [name, `/api/${name}`] as const),
    ]),
  ]),
  closed('Project', [
    ['Contributing', '/contributing'],
    ['Changelog', '/changelog'],
    ['Security', '/security'],
    ['Code of conduct', '/code-of-conduct'],
  ]),
]

type Entry = readonly [text: string, link: string] | Item

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
  const items = entries.map((entry) => (isItem(entry) ? entry : { text: entry[0], link: entry[1] }))
  return { text, collapsed: false, items }
}

function isItem(entry: Entry): entry is Item {
  return 'text' in entry
}

function closed(text: string, entries: readonly Entry[]): Item {
  return { ...group(text, entries), collapsed: true }
}
