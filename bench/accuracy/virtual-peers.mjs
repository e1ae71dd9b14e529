import { createRequire } from 'node:module'
import { subjects } from '../redis/subjects.mjs'

/**
 * Peers whose time is the process's own, so that it can be moved by hand: those in memory, and one that tells its scripts on Redis the
 * time. `open` answers with `decide(key)`.
 */
export const virtualPeers = [
  { name: 'express-rate-limit', where: 'memory', open: expressRateLimit },
  { name: 'rate-limiter-flexible', where: 'memory', open: rateLimiterFlexible },
  { name: '@fastify/rate-limit', where: 'memory', open: fastifyRateLimit },
  { name: 'hono-rate-limiter', where: 'memory', open: honoRateLimiter },
  { name: 'limiter RateLimiter', where: 'memory', open: limiterRateLimiter },
  { name: 'limiter TokenBucket', where: 'memory', open: limiterTokenBucket },
  ...subjects
    .filter(({ name, cache }) => name.startsWith('@upstash') && cache !== true)
    .map(({ name, open }) => ({ name, where: 'Redis', open })),
]

async function expressRateLimit({ limit, windowMs }) {
  const { MemoryStore } = await import('express-rate-limit')
  const store = new MemoryStore()
  store.init({ windowMs })
  return async (key) => (await store.increment(key)).totalHits <= limit
}

async function rateLimiterFlexible({ limit, windowMs }) {
  const { RateLimiterMemory } = await import('rate-limiter-flexible')
  const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1_000 })
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

async function fastifyRateLimit({ limit, windowMs }) {
  const LocalStore = createRequire(import.meta.url)('@fastify/rate-limit/store/LocalStore.js')
  const store = new LocalStore(false, false)
  return (key) =>
    new Promise((resolve, reject) => {
      const answer = (error, counted) => (error ? reject(error) : resolve(counted.current <= limit))
      store.incr(key, answer, windowMs, limit)
    })
}

async function honoRateLimiter({ limit, windowMs }) {
  const { MemoryStore } = await import('hono-rate-limiter')
  const store = new MemoryStore()
  store.init({ windowMs })
  return async (key) => (await store.increment(key)).totalHits <= limit
}

// Both are one limit without keys.
async function limiterRateLimiter({ limit, windowMs }) {
  const { RateLimiter } = await import('limiter')
  const limiter = new RateLimiter({ tokensPerInterval: limit, interval: windowMs })
  return async () => limiter.tryRemoveTokens(1)
}

async function limiterTokenBucket({ limit, windowMs }) {
  const { TokenBucket } = await import('limiter')
  const bucket = new TokenBucket({ bucketSize: limit, tokensPerInterval: limit, interval: windowMs })
  // It begins empty.
  bucket.content = limit
  return async () => bucket.tryRemoveTokens(1)
}
