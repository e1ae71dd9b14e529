import { importEntry } from '../build.mjs'
import { ruleOf } from '../redis/subjects.mjs'

const WINDOW_MS = 3_600_000
const LIMIT = 1_000_000_000

/**
 * Who counts in memory. `open` answers with `decide(key)`: `awaited` ones return a promise, the others the outcome. Each library is imported when it is opened.
 */
export const subjects = [
  ...['fixedWindow', 'slidingWindow', 'tokenBucket'].map((rule) => ({
    name: `sluice ${rule}`,
    awaited: true,
    open: sluice(rule),
  })),
  { name: 'rate-limiter-flexible', awaited: true, open: rateLimiterFlexible },
  { name: 'express-rate-limit', awaited: true, open: expressRateLimit },
  { name: 'hono-rate-limiter', awaited: true, open: honoRateLimiter },
  { name: '@fastify/rate-limit', awaited: false, open: fastifyRateLimit },
  { name: 'limiter', awaited: false, open: limiterPerKey },
]

function sluice(kind) {
  return async (build) => {
    const { createLimiter, ...rules } = await importEntry('index', build)
    const rule = ruleOf(rules, kind, { limit: LIMIT, windowMs: WINDOW_MS })
    const limiter = createLimiter({ name: 'bench', rule })
    return (key) => limiter.consume(key)
  }
}

async function rateLimiterFlexible() {
  const { RateLimiterMemory } = await import('rate-limiter-flexible')
  const limiter = new RateLimiterMemory({ points: LIMIT, duration: WINDOW_MS / 1_000 })
  return (key) => limiter.consume(key)
}

async function expressRateLimit() {
  const { MemoryStore } = await import('express-rate-limit')
  const store = new MemoryStore()
  store.init({ windowMs: WINDOW_MS })
  return (key) => store.increment(key)
}

async function honoRateLimiter() {
  const { MemoryStore } = await import('hono-rate-limiter')
  const store = new MemoryStore()
  store.init({ windowMs: WINDOW_MS })
  return (key) => store.increment(key)
}

async function fastifyRateLimit() {
  const { default: LocalStore } = await import('@fastify/rate-limit/store/LocalStore.js')
  // Its cache holds 5,000 keys unless set otherwise.
  const store = new LocalStore(false, false, 1_000_000)
  let current
  const note = (_error, counted) => {
    current = counted.current
  }
  return (key) => {
    store.incr(key, note, WINDOW_MS, LIMIT)
    return current <= LIMIT
  }
}

// The library has no keys: its users keep a limiter for each.
async function limiterPerKey() {
  const { RateLimiter } = await import('limiter')
  const limiters = new Map()
  return (key) => {
    let limiter = limiters.get(key)
    if (limiter === undefined) {
      limiter = new RateLimiter({ tokensPerInterval: LIMIT, interval: WINDOW_MS, fireImmediately: true })
      limiters.set(key, limiter)
    }
    return limiter.tryRemoveTokens(1)
  }
}
