import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { type RedisStore, redisStore } from '../../src/stores/redis/redis-store.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'
import { everyRule, ruleOf } from './every-rule.ts'

let server: RunningServer
let redis: Redis
let store: RedisStore

beforeAll(async () => {
  server = await startServer()
  redis = new Redis(server.port, server.host)
  store = redisStore(redis)
  await store.warmUp()
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

describe.each(everyRule)('$title', (named) => {
  const clock = named.aroundMs === undefined ? {} : { clock: { nowMs: () => named.aroundMs as number } }

  it('only reads for a refusal, a peek and what has nothing to undo', async () => {
    const limiter = createLimiter({ name: named.title, rule: ruleOf(named, named.options(3)), store, ...clock })
    await limiter.consume('used up', { cost: 3 })
    await limiter.consume('blocked')
    await limiter.block('blocked', 3_600_000)
    const before = await everything()
    await redis.config('RESETSTAT')

    const refusals = [
      await limiter.consume('used up'),
      await limiter.consume('blocked'),
      await limiter.consume('used up', { cost: 4 }),
      await limiter.consume('blocked', { cost: 4 }),
      await limiter.consume('fresh', { cost: 4 }),
    ]
    for (const key of ['used up', 'blocked', 'fresh']) {
      for (const cost of [0, 1, 3, 4]) await limiter.peek(key, { cost })
    }
    await limiter.giveBack('fresh')
    await limiter.unblock('fresh')
    await limiter.unblock('used up')
    await limiter.reset('fresh')

    expect(await commands()).toEqual(named.aroundMs === undefined ? ['evalsha', 'get', 'time'] : ['evalsha', 'get'])
    const never = 'cost-exceeds-limit'
    expect(refusals.map(({ reason }) => reason)).toEqual(['limit', 'blocked', never, never, never])
    expect(await everything()).toEqual(before)
  })
})

/** All keys with their values and the times when they go. */
async function everything(): Promise<Map<string, unknown>> {
  const keys = (await redis.keys('*')).sort()
  return new Map(await Promise.all(keys.map(async (key) => [key, await contentOf(key)] as const)))
}

async function contentOf(key: string): Promise<unknown> {
  return [(await redis.dumpBuffer(key)).toString('hex'), await redis.pexpiretime(key)]
}

/** Which commands the server has run since its statistics were reset, in scripts too. */
async function commands(): Promise<string[]> {
  const names = (await redis.info('commandstats')).matchAll(/^cmdstat_(.+?):/gm)
  return [...names]
    .map(([, name]) => name as string)
    .filter((name) => name !== 'config|resetstat')
    .sort()
}
