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
