import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Limit } from '../../src/core/limit.ts'
import type { Store } from '../../src/core/store.ts'
import { fixedWindow, tokenBucket } from '../../src/rules/index.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { type Action, decideCall, openLimit, operationOn } from '../open-limit.ts'
import { useServer } from '../servers/shared-servers.ts'
import { type WatchedConnection, watchedConnection } from './watched-connection.ts'

// A decision over several limits that the hot script cannot make goes to the full script: all of it, in its place.

const NOW_MS = 1_700_000_000_000
const take: Action = { type: 'consume', amount: 1 }
const hold: Action = { type: 'reserve', amount: 3, holdId: 1, holdMs: 60_000 }

let redis: Redis
let watched: WatchedConnection
let count = 0
beforeAll(async () => {
  redis = new Redis(await useServer())
})
afterAll(() => redis.disconnect())

interface Tiers {
  readonly store: Store
  readonly limits: readonly [user: Limit, all: Limit]
}

function openBoth(store: Store, limiter: string, timeoutMs = 0): Tiers {
  const user = tokenBucket({ capacity: 10, refill: 1, period: 60_000 })
  const all = fixedWindow({ limit: 8, window: 60_000 })
  return {
    store,
    limits: [
      openLimit(store, { limiter, tier: 'user', rule: user }, timeoutMs).limit,
      openLimit(store, { limiter, tier: 'all', rule: all }, timeoutMs).limit,
    ],
  }
}

function ask({ store, limits: [user, all] }: Tiers, key: string, timeoutMs = 0): Promise<readonly LimitResult[]> {
  const operations = [operationOn(user, key, take), operationOn(all, 'all', take)]
  return Promise.resolve(decideCall(store, operations, NOW_MS, undefined, timeoutMs))
}

function askOne({ store, limits }: Tiers, tier: 0 | 1, key: string, action: Action): Promise<readonly LimitResult[]> {
  return Promise.resolve(decideCall(store, [operationOn(limits[tier], key, action)], NOW_MS))
}

/** A limiter that has asked already what it has to ask first, and a process beside it that has reserved something of the user a. */
async function openHeld(): Promise<Tiers> {
  const limiter = `handed over tiers ${count++}`
  const tiers = openBoth(redisStore(watched), limiter)
  await ask(tiers, 'x')
  await askOne(tiers, 1, 'y', { type: 'charge', amount: 1 })
  await askOne(openBoth(redisStore(redis), limiter), 0, 'a', hold)
  watched.calls.length = 0
  return tiers
}

beforeEach(() => {
  watched = watchedConnection(redis)
})

/** Which scripts the calls went to: the full one takes how many decisions there are with a sign. */
const scripts = (): string[] => watched.calls.map(({ args }) => (/^\d+$/.test(`${args[1]}`) ? 'tiers' : 'sluice'))
const remaining = (results: readonly (readonly LimitResult[])[]): number[][] =>
  results.map((result) => result.map((one) => one.remaining))

it('is decided as if it had gone there at once, and so is what comes after it on its keys', async () => {
  const memory = openBoth(memoryStore(), 'memory')
  await ask(memory, 'x')
  await askOne(memory, 0, 'a', hold)
  const expected: (readonly LimitResult[])[] = []
  for (const key of ['b', 'a', 'c', 'a']) expected.push(await ask(memory, key))
  expected.push(await askOne(memory, 1, 'all', { type: 'charge', amount: 1 }), await ask(memory, 'b'))
  const tiers = await openHeld()
  const seen = await Promise.all([
    ...['b', 'a', 'c', 'a'].map((key) => ask(tiers, key)),
    askOne(tiers, 1, 'all', { type: 'charge', amount: 1 }),
    ask(tiers, 'b'),
  ])
  expect(remaining(seen)).toEqual(remaining(expected))
  expect(scripts()).toContain('tiers')
})

it('is not handed over where all is plain, whatever each costs', async () => {
  const tiers = openBoth(redisStore(watched), `plain tiers ${count++}`)
  await ask(tiers, 'x')
  watched.calls.length = 0
  const costing = (amount: number): Promise<readonly LimitResult[]> => {
    const operations = tiers.limits.map((limit) => operationOn(limit, 'a', { type: 'consume', amount }))
    return Promise.resolve(decideCall(tiers.store, operations, NOW_MS))
  }
  expect(remaining(await Promise.all([1, 2, 1, 3].map(costing)))).toEqual([
    [9, 7],
    [7, 5],
    [6, 4],
    [3, 1],
  ])
  expect(scripts()).toEqual(['tiers', 'tiers'])
})

it('is not handed over again and again: the next ones start at the full script', async () => {
  const tiers = await openHeld()
  await ask(tiers, 'a')
  await ask(tiers, 'b')
  expect(scripts()).toEqual(['tiers', 'sluice', 'sluice'])
})

it('lets what came later on the key wait for the answer', async () => {
  const tiers = await openHeld()
  const [first, , third] = await Promise.all([
    ask(tiers, 'a'),
    askOne(tiers, 1, 'all', { type: 'charge', amount: 2 }),
    askOne(tiers, 1, 'all', { type: 'peek', amount: 1 }),
  ])
  expect(remaining([first, third])).toEqual([[6, 6], [4]])
})

it('lets what comes then wait for those on its keys that are under way', async () => {
  const tiers = await openHeld()
  let calls = 0
  // The second of two calls takes its time.
  watched.before = () => (calls++ === 1 ? new Promise((resolve) => setTimeout(resolve, 20)) : undefined)
  const [first, second, other] = [ask(tiers, 'a'), ask(tiers, 'a'), askOne(tiers, 0, 'b', take)]
  const results = [await first]
  expect(remaining([await other])).toEqual([[9]])
  const third = askOne(tiers, 0, 'a', take)
  results.push(await second, await third)
  expect(remaining(results)).toEqual([[6, 6], [5, 5], [4]])
})

it('fails alone where a key of it holds something else', async () => {
  const tiers = await openHeld()
  const { limiter } = tiers.limits[0]
  const before = ask(tiers, 'x')
  await redis.rpush(`sluice:${encodeURIComponent(limiter)}~user:token-bucket@1:list`, 'an entry')
  const outcomes = await Promise.allSettled([before, ask(tiers, 'list'), ask(tiers, 'b')])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

it('is sent apart when a server has made none of the call, and each has its own end', async () => {
  const tiers = await openHeld()
  watched.before = ({ keys, args }) => {
    if (/^\d+$/.test(`${args[1]}`)) throw new Error('TRYAGAIN Multiple keys request during rehashing of slot')
    if (keys[0]?.endsWith(':b')) throw new Error('the connection is gone')
  }
  const outcomes = await Promise.allSettled([ask(tiers, 'x'), ask(tiers, 'b')])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
})

it('is not sent again when its time is up', async () => {
  const limiter = `handed over tiers ${count++}`
  const store = redisStore(watched)
  // The store waits as long as the most patient of those who ask it.
  await ask(openBoth(store, `${limiter} patient`, 60_000), 'x', 60_000)
  const hasty = openBoth(store, limiter)
  await askOne(openBoth(redisStore(redis), limiter), 0, 'a', hold)
  watched.calls.length = 0
  watched.before = () => new Promise((resolve) => setTimeout(resolve, 25))
  await expect(ask(hasty, 'a', 20)).rejects.toThrow('the time was up before the full script could be asked')
  expect(watched.calls).toHaveLength(1)
})
