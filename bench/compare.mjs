// What limiters do when Redis is gone, and with requests that they reject: `npm run bench:compare`. Takes about 70 seconds.
import { createRequire } from 'node:module'
import { createServer as createTcpServer } from 'node:net'
import { Redis } from 'ioredis'
import { peerVersions } from './peer-versions.mjs'
import { subjects } from './redis/subjects.mjs'
import { upstashClient } from './redis/upstash-client.mjs'
import { startServer } from './redis-server.mjs'
import { load, markdownTable, number, printReport, writeReport } from './report.mjs'

const PATIENCE_MS = 60_000
const LIMIT = 5

/** Each with the option by which it promises to go on without Redis, where it has one. */
const WITHOUT_REDIS = {
  'sluice, as it comes': sluice,
  'rate-limiter-flexible, insuranceLimiter': rateLimiterFlexible,
  'express-rate-limit and rate-limit-redis, passOnStoreError': expressRateLimit,
  '@nestjs/throttler storage of @nest-lab': nestLab,
  '@upstash/ratelimit, timeout 5 s by default': upstash,
  '@fastify/rate-limit, skipOnError': fastifyRateLimit,
}

// A store that could not load its script says so here too.
process.on('unhandledRejection', () => {})
const loadBefore = load()
const gone = await Promise.all(
  Object.entries(WITHOUT_REDIS).map(async ([title, open]) => [
    title,
    ...(await Promise.all([waitFor(open, {}), waitFor(open, { enableOfflineQueue: false })])),
  ]),
)
const written = await countWrites()
const body = `${peerVersions()}

## Redis is gone

One request to a port on which no server listens, by a client of ioredis as it comes, and by one that does not queue. Each limiter has the
option that lets requests pass without Redis, where it has one.

${markdownTable(['limiter', 'new Redis()', 'enableOfflineQueue: false'], gone)}

## Rejected requests

The limit is ${LIMIT}. Ten more requests follow. "Writes" says whether a rejected request changed what Redis holds, its expiry included.

${markdownTable(['limiter', 'a rejected request writes'], written)}`
const report = {
  title: 'What limiters do without Redis, and with rejected requests',
  command: 'npm run bench:compare',
  loadBefore,
  body,
}
if (process.argv.includes('--write')) writeReport('compare', report)
else printReport(report)
process.exit()

async function waitFor(open, options) {
  const redis = new Redis(await closedPort(), '127.0.0.1', options)
  redis.on('error', () => {})
  const decide = await open(redis)
  const started = performance.now()
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, 'none'))
  const answer = await Promise.race([decide().catch(() => 'an error'), late])
  const tookMs = performance.now() - started
  return answer === 'none' ? `no answer in ${PATIENCE_MS / 1_000} s` : `${answer} after ${number(tookMs)} ms`
}

async function sluice(redis) {
  const { createLimiter, fixedWindow } = await import('sluice')
  const { redisStore } = await import('sluice/redis')
  const rule = fixedWindow({ limit: LIMIT, window: '1m' })
  const limiter = createLimiter({ name: 'api', rule, store: redisStore(redis) })
  limiter.on('degraded', () => {})
  return async () => name((await limiter.consume('user:42')).allowed)
}

async function rateLimiterFlexible(redis) {
  const { RateLimiterMemory, RateLimiterRedis } = await import('rate-limiter-flexible')
  const options = { points: LIMIT, duration: 60 }
  const insuranceLimiter = new RateLimiterMemory(options)
  const limiter = new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter })
  return async () => name((await limiter.consume('user:42')) !== undefined)
}

async function expressRateLimit(redis) {
  const [{ default: express }, { rateLimit }, { RedisStore }] = await Promise.all([
    import('express'),
    import('express-rate-limit'),
    import('rate-limit-redis'),
  ])
  const store = new RedisStore({ sendCommand: (...command) => redis.call(...command) })
  const app = express()
  app.use(
    rateLimit({ limit: LIMIT, windowMs: 60_000, store, passOnStoreError: true, logger: { warn() {}, error() {} } }),
  )
  app.get('/', (_request, response) => response.send('hello'))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return () => status(server.address().port)
}

async function nestLab(redis) {
  await import('reflect-metadata')
  const { ThrottlerStorageRedisService } = await import('@nest-lab/throttler-storage-redis')
  const storage = new ThrottlerStorageRedisService(redis)
  return async () => name(!(await storage.increment('user:42', 60_000, LIMIT, 60_000, 'default')).isBlocked)
}

async function upstash(redis) {
  const { Ratelimit } = await import('@upstash/ratelimit')
  const limiter = Ratelimit.fixedWindow(LIMIT, '60 s')
  const ratelimit = new Ratelimit({ redis: upstashClient(redis), limiter })
  return async () => name((await ratelimit.limit('user:42')).success)
}

async function fastifyRateLimit(redis) {
  const require = createRequire(import.meta.url)
  const app = require('fastify')()
  await app.register(require('@fastify/rate-limit'), { max: LIMIT, timeWindow: 60_000, redis, skipOnError: true })
  app.get('/', async () => 'hello')
  await app.listen({ port: 0, host: '127.0.0.1' })
  return () => status(app.server.address().port)
}

async function status(port) {
  const { status: code } = await fetch(`http://127.0.0.1:${port}/`)
  return code < 400 ? 'allowed' : `status ${code}`
}

function name(allowed) {
  return allowed ? 'allowed' : 'rejected'
}

/** A port on which no server listens: connections are refused at once. */
async function closedPort() {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function countWrites() {
  const server = await startServer()
  const rows = []
  // A cache in the process would hide what the library sends.
  for (const subject of subjects.filter(({ cache }) => cache !== true)) {
    await server.redis.flushall()
    const decide = await subject.open({ redis: server.redis, name: 'compare', limit: LIMIT, windowMs: 60_000 })
    for (let request = 0; request < LIMIT; request++) await decide('user:42')
    // The first rejection may start a block: what counts are those after it.
    await decide('user:42')
    const before = await dump(server.redis)
    for (let request = 0; request < 10; request++)
      if (await decide('user:42')) throw new Error(`${subject.name} let pass`)
    rows.push([subject.name, (await dump(server.redis)) === before ? 'no' : 'yes'])
  }
  server.stop()
  return rows
}

/** All keys with their values and the instants at which they expire. */
async function dump(redis) {
  const keys = (await redis.keys('*')).sort()
  const states = keys.map(async (key) => [
    key,
    (await redis.dumpBuffer(key)).toString('hex'),
    await redis.pexpiretime(key),
  ])
  return JSON.stringify(await Promise.all(states))
}
