// What a full Redis server forgets, by its maxmemory-policy: for docs/operations.md.
//
// npm run bench:redis-eviction                 prints the table, under a minute
// npm run bench:redis-eviction -- --write      and writes it into the page
import { readFileSync, writeFileSync } from 'node:fs'
import { createLimiter, slidingWindow } from '../dist/index.mjs'
import { redisStore } from '../dist/redis.mjs'
import { startServer } from './redis-server.mjs'
import { countedBy, load, markdownTable, number } from './report.mjs'

const PAGE = new URL('../docs/operations.md', import.meta.url)
const MARKED = /(?<=<!-- eviction -->\n)[\s\S]*(?=<!-- \/eviction -->)/
const POLICIES = [
  'noeviction',
  'volatile-ttl',
  'volatile-lru',
  'volatile-lfu',
  'volatile-random',
  'allkeys-lru',
  'allkeys-lfu',
]
const USED_UP = 1_000
const NEWCOMERS = 60_000
const AT_ONCE = 1_000
const ROOM_BYTES = 4_000_000
const LIMIT = 5

const loadBefore = load()
const server = await startServer()
try {
  const rows = []
  for (const policy of POLICIES) rows.push(await rowOf(policy))
  const header = [
    'maxmemory-policy',
    'used-up keys that start afresh',
    'newcomers decided',
    'newcomers failed',
    'keys evicted',
  ]
  const report = `${countedBy('npm run bench:redis-eviction -- --write', loadBefore)}\n${server.version}.\n\n${markdownTable(header, rows)}`
  console.log(report)
  if (process.argv.includes('--write')) writePage(report)
} finally {
  server.stop()
}

async function rowOf(policy) {
  const { redis } = server
  await redis.config('SET', 'maxmemory', '0')
  await redis.flushall('SYNC')
  await redis.config('RESETSTAT')
  const store = redisStore(redis)
  await store.warmUp()
  const rule = slidingWindow({ limit: LIMIT, window: 3_600_000 })
  const limiter = createLimiter({
    name: 'api',
    rule,
    store,
    instances: 1,
    denialCache: false,
    timeout: 60_000,
    onStoreFailure: 'throw',
  })
  // What is said by the counts need not be said in words too.
  limiter.on('degraded', () => {})
  const take = (key, cost) =>
    limiter.consume(key, { cost }).then(
      ({ allowed }) => allowed,
      () => undefined,
    )
  await Promise.all(Array.from({ length: USED_UP }, (_, index) => take(`used-up:${index}`, LIMIT)))
  const used = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))[1])
  await redis.config('SET', 'maxmemory', `${used + ROOM_BYTES}`, 'maxmemory-policy', policy)
  let decided = 0
  for (let from = 0; from < NEWCOMERS; from += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, (_, index) => take(`newcomer:${from + index}`, 1))
    decided += (await Promise.all(some)).filter((allowed) => allowed !== undefined).length
  }
  const names = Array.from({ length: USED_UP }, (_, index) => `sluice:api:sliding-window@1:used-up:${index}`)
  const afresh = USED_UP - (await redis.exists(...names))
  const evicted = Number(/^evicted_keys:(\d+)/m.exec(await redis.info('stats'))[1])
  await limiter.close()
  const counts = [afresh, decided, NEWCOMERS - decided, evicted]
  return [`\`${policy}\``, ...counts.map((count) => number(count))]
}

function writePage(report) {
  const page = readFileSync(PAGE, 'utf8')
  if (!MARKED.test(page)) throw new Error('docs/operations.md has lost the marks around what is measured')
  writeFileSync(
    PAGE,
    page.replace(MARKED, () => `\n${report}\n\n`),
  )
}
