// What a key takes of a Redis server's memory, by rule: for docs/operations.md.
//
// npm run bench:redis-memory                   prints the table, about two minutes
// npm run bench:redis-memory -- --write        and writes it into the page
import { readFileSync, writeFileSync } from 'node:fs'
import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  slidingLog,
  slidingWindow,
  strictWindow,
  tokenBucket,
} from '../dist/index.mjs'
import { redisStore } from '../dist/redis.mjs'
import { startServer } from './redis-server.mjs'
import { countedBy, load, markdownTable, median, number } from './report.mjs'

const PAGE = new URL('../docs/operations.md', import.meta.url)
const MARKED = /(?<=<!-- memory -->\n)[\s\S]*(?=<!-- \/memory -->)/
const HOUR_MS = 3_600_000
const MANY = 100_000
const AT_ONCE = 2_000
const SAMPLES = 200
const LIMIT = 10_000
const window = { limit: LIMIT, window: HOUR_MS }
const bucket = { capacity: LIMIT, period: HOUR_MS }
const user = (index) => `user:${String(index).padStart(7, '0')}`
const uuid = (index) => `2f1c9a4e-7b35-4d0e-9c11-${String(index).padStart(12, '0')}`

// `times` is how often each key is asked, a second apart, so that it holds as much as it would in life.
const SUBJECTS = [
  { name: 'fixedWindow', rule: fixedWindow(window) },
  { name: 'slidingWindow', rule: slidingWindow(window) },
  { name: 'slidingWindow, subjects of 36 characters', rule: slidingWindow(window), nameOf: uuid },
  { name: 'tokenBucket', rule: tokenBucket({ ...bucket, refill: LIMIT }) },
  { name: 'leakyBucket', rule: leakyBucket({ ...bucket, leak: LIMIT }) },
  { name: 'strictWindow, 10 slices', rule: strictWindow(window) },
  { name: 'strictWindow, 60 slices', rule: strictWindow({ ...window, slices: 60 }) },
  { name: 'slidingLog, 1 entry', rule: slidingLog(window) },
  { name: 'slidingLog, 10 entries', rule: slidingLog(window), times: 10, keys: 20_000 },
  { name: 'slidingLog, 100 entries', rule: slidingLog(window), times: 100, keys: 2_000 },
  { name: 'slidingLog, 1,000 entries', rule: slidingLog(window), times: 1_000, keys: 200 },
  { name: 'concurrency, 1 at work', rule: concurrency({ limit: LIMIT, lease: HOUR_MS }) },
  { name: 'concurrency, 10 at work', rule: concurrency({ limit: LIMIT, lease: HOUR_MS }), times: 10, keys: 20_000 },
  {
    name: 'tokenBucket, 1 reservation pending',
    rule: tokenBucket({ ...bucket, refill: LIMIT }),
    ask: (limiter, key) => limiter.reserve(key, { estimate: 1, expiresIn: HOUR_MS }),
  },
  {
    name: 'fixedWindow, blocked',
    rule: fixedWindow(window),
    ask: (limiter, key) => limiter.block(key, HOUR_MS),
  },
  {
    name: 'fixedWindow, and an idempotency key',
    rule: fixedWindow(window),
    ask: (limiter, key) => limiter.consume(key, { idempotencyKey: key }),
    keys: 20_000,
  },
]

const loadBefore = load()
const server = await startServer()
try {
  const store = redisStore(server.redis)
  await store.warmUp()
  const rows = []
  for (const subject of SUBJECTS) rows.push(await rowOf(store, subject))
  const header = ['what a key holds', 'keys', 'bytes by `MEMORY USAGE`', 'bytes of `used_memory`']
  const report = `${countedBy('npm run bench:redis-memory -- --write', loadBefore)}\n${server.version}.\n\n${markdownTable(header, rows)}`
  console.log(report)
  if (process.argv.includes('--write')) writePage(report)
} finally {
  server.stop()
}

async function rowOf(
  store,
  { name, rule, nameOf = user, times = 1, keys = MANY, ask = (limiter, key) => limiter.consume(key) },
) {
  process.stderr.write(`\r\x1b[K${name}`)
  const { redis } = server
  await redis.flushall('SYNC')
  const before = await usedMemory()
  let nowMs = 1_700_000_000_000
  const limiter = createLimiter({
    name: 'api',
    rule,
    store,
    clock: { nowMs: () => nowMs },
    instances: 1,
    denialCache: false,
    timeout: 60_000,
  })
  for (let time = 0; time < times; time++) {
    for (let from = 0; from < keys; from += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, keys - from) }, (_, index) => nameOf(from + index))
      const answers = await Promise.all(some.map((key) => ask(limiter, key)))
      if (answers.some(({ decidedBy, decision }) => (decidedBy ?? decision.decidedBy) !== 'redis'))
        throw new Error(name)
    }
    nowMs += 1_000
  }
  const each = ((await usedMemory()) - before) / keys
  const samples = []
  for (const key of await sampleKeys()) samples.push(await redis.memory('USAGE', key))
  process.stderr.write('\r\x1b[K')
  return [name, number(keys), number(median(samples)), number(each)]
}

async function sampleKeys() {
  const [, keys] = await server.redis.scan('0', 'MATCH', 'sluice:*', 'COUNT', SAMPLES)
  return keys
}

async function usedMemory() {
  const info = await server.redis.info('memory')
  return Number(/^used_memory:(\d+)/m.exec(info)[1])
}

function writePage(report) {
  const page = readFileSync(PAGE, 'utf8')
  if (!MARKED.test(page)) throw new Error('docs/operations.md has lost the marks around what is measured')
  writeFileSync(
    PAGE,
    page.replace(MARKED, () => `\n${report}\n\n`),
  )
}
