import { Cluster, Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import { tokenBucket } from '../../src/rules/index.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import type { RedisClient } from '../../src/stores/redis/clients/connect.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { type Action, decideCall, type OpenLimit, openLimit, operationOn } from '../open-limit.ts'
import { useCluster, useServer } from '../servers/shared-servers.ts'
import { type WatchedConnection, watchedConnection } from './watched-connection.ts'

// A hot script hands over what it cannot read. The client sends just that to the full script, in its order.

const NOW_MS = 1_700_000_000_000
const rule = tokenBucket({ capacity: 10, refill: 1, period: 60_000 })
const take = (amount = 1): Action => ({ type: 'consume', amount })
const hold = (holdId: number, amount: number): Action => ({ type: 'reserve', amount, holdId, holdMs: 1_000 })

let count = 0
const topologies: readonly (readonly [string, () => Promise<Redis | Cluster>])[] = [
  ['a single server', async () => new Redis(await useServer())],
  ['a Cluster', async () => new Cluster([...(await useCluster()).nodes])],
]

describe.each(topologies)('on %s', (_, open) => {
  let client: Redis | Cluster
  let watched: WatchedConnection
  let limit: OpenLimit
  beforeAll(async () => {
    client = await open()
  })
  afterAll(() => client.disconnect())
  beforeEach(async () => {
    watched = watchedConnection(client as RedisClient)
    limit = openLimit(redisStore(watched), { limiter: `handed over ${count++}`, rule })
    // The store asks first what it has to ask, and loads both scripts.
    await limit.decide('first', take(), NOW_MS)
    await limit.decide('first', { type: 'charge', amount: 1 }, NOW_MS)
    watched.calls.length = 0
  })
  afterEach(() => {
    watched.before = () => {}
  })

  const ask = (actions: readonly Action[], key = 'a'): Promise<LimitResult[]> =>
    Promise.all(actions.map((action) => limit.decide(key, action, NOW_MS)))
  const remaining = (results: readonly LimitResult[]): number[] => results.map((result) => result.remaining)
  /** Which scripts the calls went to. */
  const scripts = (): string[] => watched.calls.map(({ args }) => (args[0] === `${NOW_MS}` ? 'full' : 'hot'))

  it('a key with a hold is decided by the full script, and the others of the call by the hot one', async () => {
    await ask([hold(1, 4)])
    watched.calls.length = 0
    const asked = ['x', 'a', 'b'].map((key) => limit.decide(key, take(), NOW_MS))
    expect(remaining(await Promise.all(asked))).toEqual([9, 5, 9])
    expect(scripts().filter((name) => name === 'full')).toEqual(['full'])
    expect(watched.calls.at(-1)?.keys).toHaveLength(1)
  })

  it.each([
    ['behind a hold', [hold(1, 4)]],
    ['on an untouched key', []],
  ])('what comes later %s does not overtake what is handed over', async (_, before) => {
    const memory = openLimit(memoryStore(), { limiter: 'memory', rule })
    const actions: Action[] = [
      ...[take(), { type: 'charge', amount: 1 } as const, take(), take(2), hold(2, 3), take(), take(20), take()],
      ...[{ type: 'settle', holdId: 2, amount: 0 } as const, take(3), { type: 'reset' } as const, take(2), take()],
    ]
    const expected: LimitResult[] = []
    for (const action of [...before, ...actions]) expected.push(await memory.decide('a', action, NOW_MS))
    await ask(before)
    const seen = await ask(actions)
    // The memory store says more than a result.
    expect(expected.slice(before.length)).toMatchObject(seen)
  })

  it('what comes after one was handed over waits for those on the key that are under way', async () => {
    await ask([hold(1, 4)])
    const laterMs = NOW_MS + 2_000
    const [first, second] = [limit.decide('a', take(), laterMs), limit.decide('a', take(), laterMs)]
    let calls = 0
    // The second takes its time. By the first the hold, which has expired, goes.
    watched.before = () => (calls++ === 0 ? new Promise((resolve) => setTimeout(resolve, 20)) : undefined)
    const results = [await first]
    const third = limit.decide('a', take(), laterMs)
    results.push(await second, await third)
    expect(remaining(results)).toEqual([9, 8, 7])
  })

  it('a decision over a cost that never passes keeps its place', async () => {
    expect(remaining(await ask([take(4), take(11), take(1)]))).toEqual([6, 6, 5])
  })

  it('a limit whose decisions are often handed over starts at the full script, for a while', async () => {
    await ask([hold(1, 1)])
    watched.calls.length = 0
    for (let index = 0; index < 16; index++) await limit.decide('a', { type: 'peek', amount: 1 }, NOW_MS)
    expect(scripts()).toEqual(Array.from({ length: 32 }, (_, index) => (index % 2 === 0 ? 'hot' : 'full')))
    watched.calls.length = 0
    for (let index = 0; index < 1_000; index++) await limit.decide('b', { type: 'peek', amount: 1 }, NOW_MS)
    expect(new Set(scripts())).toEqual(new Set(['full']))
    watched.calls.length = 0
    await limit.decide('b', { type: 'peek', amount: 1 }, NOW_MS)
    expect(scripts()).toEqual(['hot'])
  })

  it('a call that fails hands nothing over, and what has waited for it goes on', async () => {
    await ask([hold(1, 4)])
    watched.before = () => {
      watched.before = () => {}
      throw new Error('the connection is gone')
    }
    const outcomes = await Promise.allSettled([
      limit.decide('a', take(), NOW_MS),
      limit.decide('a', { type: 'charge', amount: 1 }, NOW_MS),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(remaining(await ask([{ type: 'peek', amount: 1 }]))).toEqual([5])
  })
})

it('a decision whose time is up when it is handed over is not sent again', async () => {
  const redis = new Redis(await useServer())
  const watched = watchedConnection(redis)
  const store = redisStore(watched)
  const { limit, decide } = openLimit(store, { limiter: 'hasty', rule })
  await decide('a', hold(1, 4), NOW_MS)
  watched.calls.length = 0
  watched.before = () => new Promise((resolve) => setTimeout(resolve, 25))
  // A busy process has not noticed yet that its time is up.
  await expect(decideCall(store, [operationOn(limit, 'a', take())], NOW_MS, undefined, 20, false)).rejects.toThrow(
    'the time was up before the full script could be asked',
  )
  expect(watched.calls).toHaveLength(1)
  redis.disconnect()
})

it('a call to the full script that fails fails all that are in it, once', async () => {
  const redis = new Redis(await useServer())
  const watched = watchedConnection(redis)
  const { decide } = openLimit(redisStore(watched), { limiter: 'failing', rule })
  await decide('first', { type: 'charge', amount: 1 }, NOW_MS)
  watched.calls.length = 0
  watched.before = () => {
    throw new Error('the connection is gone')
  }
  const asked = ['a', 'b', 'c'].map((key) => decide(key, { type: 'charge', amount: 1 }, NOW_MS))
  const outcomes = await Promise.allSettled(asked)
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(watched.calls.map(({ keys }) => keys.length)).toEqual([1, 2])
  redis.disconnect()
})
