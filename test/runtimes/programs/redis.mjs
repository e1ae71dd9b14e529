// The Redis store at the port of the first argument, on each client: prints what the store contract says, and how many of 150 at once
// pass a limit of 100.
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createLimiter, slidingWindow } from 'sluice'
import { redisStore } from 'sluice/redis'
import { runContract } from './run-contract.mjs'

const port = Number(process.argv[2])

async function report(client) {
  const { checks, failed } = await runContract(() => redisStore(client))
  const name = `at-once-${crypto.randomUUID()}`
  const limiter = createLimiter({ name, rule: slidingWindow({ limit: 100, window: '1d' }), store: redisStore(client) })
  const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.consume('ann')))
  await limiter.close()
  const passed = decisions.filter(({ allowed, decidedBy }) => allowed && decidedBy === 'redis').length
  return { checks, failed, passed }
}

const ioredis = new Redis(port, '127.0.0.1')
const nodeRedis = createClient({ url: `redis://127.0.0.1:${port}` })
await nodeRedis.connect()
console.log(JSON.stringify({ ioredis: await report(ioredis), 'node-redis': await report(nodeRedis) }))
ioredis.disconnect()
nodeRedis.destroy()
