import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { type RedisStore, redisStore } from '../../src/stores/redis/redis-store.ts'
import { type Action, openLimit } from '../open-limit.ts'
import { patient } from '../patient.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { everyRule, NOON_MS, ruleOf } from './every-rule.ts'

let server: Address
let redis: Redis
let store: RedisStore

beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
  store = redisStore(redis)
  await store.warmUp()
})
afterAll(async () => {
  redis?.disconnect()
})

describe.each(everyRule)('$title', (named) => {
  const clock = named.aroundMs === undefined ? {} : { clock: { nowMs: () => named.aroundMs as number } }

  it('only reads for a refusal, a peek and what has nothing to undo', async () => {
    const limiter = createLimiter({
      name: named.title,
      rule: ruleOf(named, named.options(3)),
      store,
      ...patient,
      ...clock,
    })
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
    await limiter.refund('fresh')
    await limiter.unblock('fresh')
    await limiter.unblock('used up')
    await limiter.reset('fresh')

    expect(await commands(named.title)).toEqual(
      named.aroundMs === undefined ? ['evalsha', 'get', 'time'] : ['evalsha', 'get'],
    )
    const never = 'cost-exceeds-limit'
    expect(refusals.map(({ reason }) => reason)).toEqual(['limit', 'blocked', never, never, never])
    expect(await everything()).toEqual(before)
  })

  it('only reads when another tier refuses, whatever was to be taken', async () => {
    const limiter = createLimiter({
      name: `tiers, ${named.title}`,
      tiers: {
        free: ruleOf(named, named.options(3)),
        shadow: { rule: ruleOf(named, named.options(3)), shadow: true },
        full: fixedWindow({ limit: 1, window: 86_400_000, anchor: 'first-hit' }),
      },
      store,
      ...patient,
      ...clock,
    })
    const key = { free: 'used', shadow: 'used', full: 'all' }
    expect((await limiter.consume(key)).allowed).toBe(true)
    const before = await everything()
    await redis.config('RESETSTAT')

    const refusals = [
      await limiter.consume(key),
      await limiter.consume({ ...key, shadow: 'fresh' }),
      await limiter.consume(key, { idempotencyKey: 'an id' }),
      await limiter.consume(key, { cost: { free: 4, shadow: 4 } }),
      (await limiter.reserve(key, { estimate: 1 })).decision,
    ]
    if (limiter.rules.free?.refunds === 'lease') refusals.push((await limiter.acquire(key)).decision)
    await limiter.peek(key)
    await limiter.refund({ free: 'fresh', full: 'fresh' })
    await limiter.unblock(key)
    await limiter.reset({ free: 'fresh', full: 'fresh' })

    const reading = ['evalsha', 'get']
    expect(await commands(named.title)).toEqual(named.aroundMs === undefined ? [...reading, 'time'] : reading)
    expect(refusals.map(({ allowed, tiers }) => [allowed, tiers.full?.allowed])).toEqual(
      refusals.map(() => [false, false]),
    )
    expect(refusals[0]?.tiers.free).toMatchObject({ allowed: true, remaining: 2 })
    expect(await everything()).toEqual(before)
  })

  it('only reads for a hold that is over, and for what looks at the key then', async () => {
    const rule = ruleOf(named, named.options(3))
    const oneLimit = openLimit(store, { limiter: `holds, ${named.title}`, rule })
    const startMs = named.aroundMs ?? NOON_MS
    await oneLimit.decide('one', { type: 'consume', amount: 1 }, startMs)
    await oneLimit.decide('one', { type: 'reserve', amount: 1, holdId: 7, holdMs: 10 }, startMs)
    const before = await everything()
    await redis.config('RESETSTAT')
    const requests: Action[] = [
      { type: 'peek', amount: 1 },
      { type: 'consume', amount: 4 },
      { type: 'consume', amount: 3 },
      { type: 'settle', holdId: 7, amount: 0 },
      { type: 'settle', holdId: 8, amount: 0 },
      { type: 'extend', holdId: 7, holdMs: 10 },
      { type: 'unblock' },
    ]
    const verdicts = []
    for (const request of requests) verdicts.push(await oneLimit.decide('one', request, startMs + 10))

    expect(verdicts.map(({ reason }) => reason ?? 'none')).toEqual([
      ...['none', 'cost-exceeds-limit', 'limit', 'reservation-ended', 'reservation-ended', 'reservation-ended', 'none'],
    ])
    expect(await commands(named.title)).toEqual(['evalsha', 'get'])
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

/** What a connection says when it is opened: one of another file may still be opening on the shared server. */
const GREETINGS = new Set(['auth', 'hello', 'info', 'client|setinfo', 'client|setname', 'config|resetstat'])

/** Other commands that only read: rules that keep every entry read parts of a value. */
const READING: Readonly<Record<string, readonly string[]>> = {
  slidingLog: ['getrange', 'exists'],
  concurrency: ['getrange', 'exists'],
}

/** Which commands the server has run since its statistics were reset, in scripts too, but for those by which a rule reads. */
async function commands(title: string): Promise<string[]> {
  const names = (await redis.info('commandstats')).matchAll(/^cmdstat_(.+?):/gm)
  return [...names]
    .map(([, name]) => name as string)
    .filter((name) => !GREETINGS.has(name) && READING[title]?.includes(name) !== true)
    .sort()
}
