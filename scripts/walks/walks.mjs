import { fileURLToPath } from 'node:url'
import express from 'express'
import { Redis } from 'ioredis'
import { rateLimit } from '../../src/adapters/express/index.ts'
import { rateLimit as limitFetch } from '../../src/adapters/fetch/index.ts'
import { createLimiter, fixedWindow, memoryStore, slidingWindow, tokenBucket } from '../../src/index.ts'
import { readPolicies } from '../../src/policies/read-policies.ts'
import { createService } from '../../src/service/service.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { findServer } from '../../test/servers/find-server.ts'
import { startServer } from '../../test/servers/start-server.ts'
import { openExchange, portOf, startBareServer } from './http-exchange.mjs'

// High enough that no walk ends in a refusal, and long enough that few of them see the end of a window.
const limit = 1_000_000_000
const windowMs = 3_600_000
const TOGETHER = 64

/**
 * The walks of a decision. `open` prepares one and returns `ask`, which walks once, and `close`; with `empty`, what asking costs without
 * a limiter. `times` walks start in one turn of the event loop.
 */
export const walks = [
  { id: 'a', what: "memory, consume('u')", open: onMemory },
  { id: 'a′', what: 'memory, as adapters ask', open: asAdaptersAsk },
  { id: 'b', what: 'Redis, alone', open: onRedis },
  { id: 'b′', what: 'Redis, 64 in a turn', times: TOGETHER, open: onRedis },
  { id: 'c', what: 'Express on memory, GET', open: throughExpress },
  { id: 'd', what: 'three tiers on Redis, alone', open: tiersOnRedis },
  { id: 'd′', what: 'three tiers, 64 in a turn', times: TOGETHER, open: tiersOnRedis },
  { id: 'e', what: 'POST /v1/consume, memory', open: throughService },
]

function onMemory() {
  const limiter = createLimiter({ name: 'walk', rule: slidingWindow({ limit, window: windowMs }) })
  return { ask: () => limiter.consume('u'), close: () => {} }
}

/** Lets an adapter ask once, notes what it asks the limiter, and asks that. */
async function asAdaptersAsk() {
  const limiter = createLimiter({ name: 'walk', rule: slidingWindow({ limit, window: windowMs }) })
  const { consume } = limiter
  let asked
  limiter.consume = (...args) => {
    asked = args
    return consume.apply(limiter, args)
  }
  await limitFetch({ limiter, key: () => 'u' })(() => new Response())(new Request('http://localhost/'))
  limiter.consume = consume
  if (asked === undefined) throw new Error('adapters ask by another method than consume: ask the same here')
  return { ask: () => limiter.consume(...asked), close: () => {} }
}

async function onRedis() {
  const { redis, close } = await openRedis()
  const limiter = createLimiter({
    name: 'walk',
    rule: slidingWindow({ limit, window: windowMs }),
    store: redisStore(redis),
  })
  return { ask: (index) => limiter.consume(`u${index}`), close }
}

async function tiersOnRedis() {
  const { redis, close } = await openRedis()
  const tiers = {
    user: slidingWindow({ limit, window: windowMs }),
    ip: tokenBucket({ capacity: limit, refill: limit, period: windowMs }),
    all: fixedWindow({ limit, window: windowMs }),
  }
  const limiter = createLimiter({ name: 'walk', tiers, store: redisStore(redis) })
  return { ask: (index) => limiter.consume({ user: `u${index}`, ip: `i${index}`, all: 'all' }), close }
}

async function throughExpress() {
  const app = express()
  app.use(rateLimit({ limiter: createLimiter({ name: 'walk', rule: slidingWindow({ limit, window: windowMs }) }) }))
  app.get('/', (_request, response) => response.json({}))
  const server = app.listen(0, '127.0.0.1')
  return exchanges(await portOf(server), { method: 'GET' }, () => server.close())
}

async function throughService() {
  const token = 'a-token-for-the-walk'
  const policies = readPolicies(`policies: { api: { rule: sliding-window, limit: ${limit}, window: 1h } }`, 'walk.yaml')
  const service = await createService({ policies, store: memoryStore(), token, version: '0.0.0' })
  const { port } = await service.listen('127.0.0.1', 0)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ policy: 'api', key: 'u' })
  return exchanges(port, { method: 'POST', path: '/v1/consume', headers, body }, () => service.close(0))
}

async function exchanges(port, request, closeServer) {
  const bare = await startBareServer()
  const [walk, empty] = [openExchange(port, request), openExchange(bare.port, request)]
  const close = async () => {
    walk.close()
    empty.close()
    bare.close()
    await closeServer()
  }
  return { ask: walk.send, empty: empty.send, close }
}

async function openRedis() {
  const cache = fileURLToPath(new URL('../../.cache/redis', import.meta.url))
  const server = await startServer({ server: await findServer(process.env, cache) })
  const redis = new Redis(server.port, server.host)
  const close = async () => {
    redis.disconnect()
    await server.stop()
  }
  return { redis, close }
}
