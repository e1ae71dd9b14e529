import { createRequire } from 'node:module'
import { importEntry } from '../build.mjs'
import { upstashClient } from './upstash-client.mjs'

/**
 * Every limiter that is measured on Redis. `open` takes a client of ioredis, a limit and its window, and answers with `decide(key)`,
 * which resolves with whether the request may pass. `cache` marks those that remember refusals in the process. Each library is
 * imported when it is opened: a process loads only what it measures. Peers are set up as their own pages say, and the fastest way.
 */
export const subjects = [
  { name: 'sluice fixedWindow', algorithm: 'fixed window', cache: true, open: sluice('fixedWindow') },
  { name: 'sluice slidingWindow', algorithm: 'sliding window', cache: true, open: sluice('slidingWindow') },
  { name: 'sluice tokenBucket', algorithm: 'token bucket', cache: true, open: sluice('tokenBucket') },
  { name: 'rate-limiter-flexible', algorithm: 'fixed window', open: rateLimiterFlexible(false) },
  { name: 'rate-limit-redis', algorithm: 'fixed window', open: rateLimitRedis },
  { name: '@fastify/rate-limit', algorithm: 'fixed window', open: fastifyRateLimit },
  { name: 'hono-rate-limiter', algorithm: 'fixed window', open: honoRateLimiter },
  { name: '@nest-lab/throttler-storage-redis', algorithm: 'fixed window', open: nestLab },
  { name: '@upstash/ratelimit fixedWindow', algorithm: 'fixed window', open: upstash('fixedWindow', false) },
  { name: '@upstash/ratelimit slidingWindow', algorithm: 'sliding window', open: upstash('slidingWindow', false) },
  { name: '@upstash/ratelimit tokenBucket', algorithm: 'token bucket', open: upstash('tokenBucket', false) },
  {
    name: 'sluice fixedWindow, denialCache: false',
    algorithm: 'fixed window',
    open: sluice('fixedWindow', { denialCache: false }),
  },
  {
    name: 'rate-limiter-flexible, inMemoryBlockOnConsumed',
    algorithm: 'fixed window',
    cache: true,
    open: rateLimiterFlexible(true),
  },
  {
    name: '@upstash/ratelimit fixedWindow, ephemeralCache',
    algorithm: 'fixed window',
    cache: true,
    open: upstash('fixedWindow', true),
  },
]

/** Whether a subject is ours. */
export function isOurs({ name }) {
  return name.startsWith('sluice')
}

/** Those that take every decision to Redis, with ours, which do so while nothing is refused. */
export const uncached = subjects.filter((subject) => isOurs(subject) === (subject.cache === true))

/** The rule of ours that limits alike. Of a bucket a token comes back in a window: the peers' keys last as long, and ours must not be gone before. */
export function ruleOf(rules, kind, { limit, windowMs }) {
  return kind === 'tokenBucket'
    ? rules.tokenBucket({ capacity: limit, refill: 1, period: windowMs })
    : rules[kind]({ limit, window: windowMs })
}

/** A machine that stands still for half a second must not end the run: a decision without Redis would. */
export const PATIENT = { timeout: '30s' }

function sluice(kind, options = {}) {
  return async ({ redis, name, build, ...limit }) => {
    const { createLimiter, ...rules } = await importEntry('index', build)
    const { redisStore } = await importEntry('redis', build)
    const rule = ruleOf(rules, kind, limit)
    const limiter = createLimiter({ name, rule, store: redisStore(redis), ...PATIENT, ...options })
    return async (key) => passes(await limiter.consume(key))
  }
}

/** Whether a decision of ours admits. What was decided without Redis has no place in a table about Redis. */
export function passes({ allowed, decidedBy }) {
  if (decidedBy === 'fallback') throw new Error('a decision was made without Redis')
  return allowed
}

function rateLimiterFlexible(isCached) {
  return async ({ redis, name, limit, windowMs }) => {
    const { RateLimiterRedis } = await import('rate-limiter-flexible')
    const cache = isCached ? { inMemoryBlockOnConsumed: limit + 1 } : {}
    const options = { storeClient: redis, keyPrefix: `rlf-${name}`, points: limit, duration: windowMs / 1_000 }
    const limiter = new RateLimiterRedis({ ...options, ...cache })
    return async (key) => {
      try {
        await limiter.consume(key)
        return true
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal
        return false
      }
    }
  }
}

async function rateLimitRedis({ redis, name, limit, windowMs }) {
  const { RedisStore } = await import('rate-limit-redis')
  const store = new RedisStore({ prefix: `rlr-${name}:`, sendCommand: (...command) => redis.call(...command) })
  await store.init({ windowMs })
  return async (key) => (await store.increment(key)).totalHits <= limit
}

// The class that the plugin makes of its option `redis`. It is not exported, and a whole Fastify around it would slow it down.
async function fastifyRateLimit({ redis, name, limit, windowMs }) {
  const RedisStore = createRequire(import.meta.url)('@fastify/rate-limit/store/RedisStore.js')
  const store = new RedisStore(false, false, redis, `fastify-${name}-`)
  return (key) =>
    new Promise((resolve, reject) => {
      const answer = (error, counted) => (error ? reject(error) : resolve(counted.current <= limit))
      store.incr(key, answer, windowMs, limit)
    })
}

async function honoRateLimiter({ redis, name, limit, windowMs }) {
  const { RedisStore } = await import('hono-rate-limiter')
  const client = {
    scriptLoad: (script) => redis.script('LOAD', script),
    evalsha: (sha1, keys, args) => redis.evalsha(sha1, keys.length, ...keys, ...args),
    decr: (key) => redis.decr(key),
    del: (key) => redis.del(key),
  }
  const store = new RedisStore({ client, prefix: `hono-${name}:` })
  store.init({ windowMs })
  return async (key) => (await store.increment(key)).totalHits <= limit
}

async function nestLab({ redis, name, limit, windowMs }) {
  await import('reflect-metadata')
  const { ThrottlerStorageRedisService } = await import('@nest-lab/throttler-storage-redis')
  const storage = new ThrottlerStorageRedisService(redis)
  return async (key) => !(await storage.increment(key, windowMs, limit, windowMs, name)).isBlocked
}

function upstash(algorithm, isCached) {
  return async ({ redis, name, limit, windowMs }) => {
    const { Ratelimit } = await import('@upstash/ratelimit')
    const window = `${windowMs} ms`
    const ratelimit = new Ratelimit({
      redis: upstashClient(redis),
      limiter:
        algorithm === 'tokenBucket' ? Ratelimit.tokenBucket(limit, window, limit) : Ratelimit[algorithm](limit, window),
      prefix: `upstash-${name}`,
      ephemeralCache: isCached ? new Map() : false,
      // Its timer for every request is the only deadline here that costs something.
      timeout: 0,
    })
    return async (key) => (await ratelimit.limit(key)).success
  }
}
