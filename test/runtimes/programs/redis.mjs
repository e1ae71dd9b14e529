// The Redis store at the port of the first argument, and at the HTTP address and token of the others, on each client: prints what the store contract says, what waiting does, and how
// many of 150 at once pass a limit of 100.
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createLimiter, slidingWindow } from 'sluice'
import { redisStore, upstashConnection } from 'sluice/redis'
import { runContract } from './run-contract.mjs'
import { runWaiting } from './run-waiting.mjs'

const [port, url, token] = process.argv.slice(2)

async function report(client) {
  const contract = await runContract(() => redisStore(client))
  const waiting = await runWaiting(redisStore(client))
  const name = `at-once-${crypto.randomUUID()}`
  const limiter = createLimiter({ name, rule: slidingWindow({ limit: 100, window: '1d' }), store: redisStore(client) })
  const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.consume('ann')))
  await limiter.close()
  const passed = decisions.filter(({ allowed, decidedBy }) => allowed && decidedBy === 'redis').length
  return { contract, waiting, passed }
}

const ioredis = new Redis(Number(port), '127.0.0.1')
const nodeRedis = createClient({ url: `redis://127.0.0.1:${port}` })
await nodeRedis.connect()
const overHttp = upstashConnection({ url, token })
console.log(
  JSON.stringify({
    ioredis: await report(ioredis),
    'node-redis': await report(nodeRedis),
    upstash: await report(overHttp),
  }),
)
ioredis.disconnect()
nodeRedis.destroy()
