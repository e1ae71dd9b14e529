/** How long a key lives after its last request. Long enough for a million keys to arrive and come back once. */
export const WINDOW_MS = 10_000

// High enough that nothing is refused: a refusal is less work than a request that counts.
const LIMIT = 100_000

// An ordinary date, since small numbers take less memory in V8; and the start of a window, so that all keys share one.
const START_MS = 1_700_000_000_000

/**
 * Every subject by its name. Opening one answers with:
 * `decide(key)`, one decision; `keys()`, how many keys are held; `turn()`, called at the start of every turn of the event
 * loop; `expire()`, after which nothing that was held counts any more, or 'by itself' with the real time, or 'never'.
 */
export const subjects = {
  'sluice fixedWindow': sluice(({ fixedWindow }) => fixedWindow({ limit: LIMIT, window: WINDOW_MS })),
  'sluice slidingWindow': sluice(({ slidingWindow }) => slidingWindow({ limit: LIMIT, window: WINDOW_MS })),
  'sluice slidingWindow, maxKeys 16,000,000': sluice(
    ({ slidingWindow }) => slidingWindow({ limit: LIMIT, window: WINDOW_MS }),
    16_000_000,
  ),
  // One token takes a whole window to come back, or the keys would be fresh again before all have arrived.
  'sluice tokenBucket': sluice(({ tokenBucket }) => tokenBucket({ capacity: LIMIT, refill: 1, period: WINDOW_MS })),
  'sluice leakyBucket': sluice(({ leakyBucket }) => leakyBucket({ capacity: LIMIT, leak: 1, period: WINDOW_MS })),
  'sluice strictWindow': sluice(({ strictWindow }) => strictWindow({ limit: LIMIT, window: WINDOW_MS })),
  'sluice slidingLog': sluice(({ slidingLog }) => slidingLog({ limit: LIMIT, window: WINDOW_MS })),
  'sluice concurrency': sluice(({ concurrency }) => concurrency({ limit: LIMIT, lease: WINDOW_MS })),
  'express-rate-limit': expressRateLimit,
  'rate-limiter-flexible': rateLimiterFlexible,
  'hono-rate-limiter': honoRateLimiter,
  '@fastify/rate-limit': fastifyRateLimit,
  'limiter, one for each key': limiterPerKey,
  'a bare Map': bareMap,
}

// Each library is imported when it is opened: a process loads only what it measures.
function sluice(ruleOf, maxKeys = 1_000_000) {
  return async () => {
    const library = await import('sluice')
    const { manualClock } = await import('sluice/testing')
    const clock = manualClock(START_MS)
    const store = library.memoryStore({ maxKeys })
    const limiter = library.createLimiter({ name: 'bench', rule: ruleOf(library), store, clock })
    return {
      decide: (key) => limiter.consume(key),
      keys: () => store.stats().keys,
      turn: () => clock.advance(1),
      // Two requests in a bucket take two windows to leave. A store keeps everything for a minute more: a caller's clock may step back.
      expire: () => clock.advance(2 * WINDOW_MS + 60_000),
    }
  }
}

async function expressRateLimit() {
  const { MemoryStore } = await import('express-rate-limit')
  const store = new MemoryStore()
  store.init({ windowMs: WINDOW_MS })
  return {
    decide: (key) => store.increment(key),
    keys: () => store.current.size + store.previous.size,
    turn() {},
    expire: 'by itself',
  }
}

async function rateLimiterFlexible() {
  const { RateLimiterMemory } = await import('rate-limiter-flexible')
  const limiter = new RateLimiterMemory({ points: LIMIT, duration: WINDOW_MS / 1_000 })
  return {
    decide: (key) => limiter.consume(key),
    keys: () => limiter._memoryStorage._storage.size,
    turn() {},
    expire: 'by itself',
  }
}

async function honoRateLimiter() {
  const { MemoryStore } = await import('hono-rate-limiter')
  const store = new MemoryStore()
  store.init({ windowMs: WINDOW_MS })
  return {
    decide: (key) => store.increment(key),
    keys: () => store.current.size + store.previous.size,
    turn() {},
    expire: 'by itself',
  }
}

async function fastifyRateLimit() {
  const { default: LocalStore } = await import('@fastify/rate-limit/store/LocalStore.js')
  // Its cache holds 5,000 keys unless set otherwise, and forgets only when it is full.
  const store = new LocalStore(false, false, 1_000_000)
  const ignore = () => {}
  return {
    decide: (key) => store.incr(key, ignore, WINDOW_MS, LIMIT),
    keys: () => store.lru.size,
    turn() {},
    expire: 'never',
  }
}

// The library has no keys: its users keep a limiter for each, in a map that nobody clears.
async function limiterPerKey() {
  const { RateLimiter } = await import('limiter')
  const limiters = new Map()
  return {
    decide(key) {
      let limiter = limiters.get(key)
      if (limiter === undefined) {
        limiter = new RateLimiter({ tokensPerInterval: LIMIT, interval: WINDOW_MS, fireImmediately: true })
        limiters.set(key, limiter)
      }
      return limiter.tryRemoveTokens(1)
    },
    keys: () => limiters.size,
    turn() {},
    expire: 'never',
  }
}

async function bareMap() {
  const counts = new Map()
  return {
    decide: (key) => counts.set(key, (counts.get(key) ?? 0) + 1),
    keys: () => counts.size,
    turn() {},
    expire: 'never',
  }
}
