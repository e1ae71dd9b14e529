import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { STORE_TIME } from '../../src/core/clock.ts'
import type { LimitResult } from '../../src/core/decision.ts'
import type { Rule } from '../../src/core/rule.ts'
import { fixedWindow, slidingLog, tokenBucket } from '../../src/rules/index.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { DEFAULT_PREFIX, redisKey } from '../../src/stores/redis/redis-keyspace.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { type LendingTurn, lendingModes, lendingRules, lendingTurns, Spenders } from '../lending.ts'
import { type Action, decideCall, openLimit, operationOn } from '../open-limit.ts'
import { starts } from '../schedules.ts'
import { useServer } from '../servers/shared-servers.ts'
import { watchedConnection } from './watched-connection.ts'

// The grants of processes that prefetch: the scripts beside the engine, on schedules that a process could have.

const NOW_MS = 1_700_000_000_000

let redis: Redis
let count = 0
beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())

interface Turn extends LendingTurn {
  /** What others do in between. */
  readonly others: readonly Action[]
}

const amount = fc.integer({ min: 1, max: 20 })
const others: fc.Arbitrary<Action[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ type: fc.constantFrom('consume' as const, 'peek' as const), amount }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('charge' as const, 'refund' as const), amount }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('reserve' as const),
        amount,
        holdId: fc.constantFrom(7e12, 8e12),
        holdMs: fc.constantFrom(50, 250, 1_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('settle' as const), amount, holdId: fc.constant(7e12) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('block' as const), amount: fc.constantFrom(1, 99, 250) }) },
    { weight: 1, arbitrary: fc.constantFrom<Action>({ type: 'unblock' }, { type: 'reset' }) },
  ),
  { maxLength: 3 },
)

const turns: fc.Arbitrary<Turn[]> = lendingTurns.chain((list) =>
  fc
    .array(others, { minLength: list.length, maxLength: list.length })
    .map((all) => list.map((turn, index) => ({ ...turn, others: all[index] as Action[] }))),
)

async function expectTwins(rule: Rule, turnList: readonly Turn[], startMs: number): Promise<void> {
  const limiter = `lending ${count++}`
  const stores = [memoryStore(), redisStore(redis)].map((store) => openLimit(store, { limiter, rule }))
  const spenders = new Spenders(startMs)
  const trace: string[] = []
  const ask = async (action: Action): Promise<LimitResult> => {
    const [expected, seen] = await Promise.all(stores.map((limit) => limit.decide('a', action, spenders.nowMs)))
    trace.push(`${spenders.nowMs} ${JSON.stringify(action)} ${JSON.stringify(seen)}`)
    const right = Object.fromEntries(
      Object.keys(seen as object).map((name) => [name, expected?.[name as keyof LimitResult]]),
    )
    if (!isDeepStrictEqual(seen, right)) expect(seen, trace.join('\n')).toEqual(right)
    return seen as LimitResult
  }
  for (const turn of turnList) {
    const action = spenders.next(turn)
    spenders.answered(turn, action, await ask(action))
    for (const other of turn.others) await ask(other)
  }
}

describe('a key with grants that are live', () => {
  const rule = tokenBucket({ capacity: 100, refill: 1, period: 60_000 })
  const lend = (holdId: number, holdMs: number): Action => {
    const grant = { want: 11, soon: 11, soonMs: holdMs, endedId: 0, endedUsed: 0 }
    return { type: 'grant', amount: 1, holdId, holdMs, grant }
  }
  const take = (amount: number): Action => ({ type: 'consume', amount })

  it('stays on the hot script, refused or not, which hands it over once a first grant has ended', async () => {
    const watched = watchedConnection(redis)
    const limit = openLimit(redisStore(watched), { limiter: `hot ${count++}`, rule })
    const ask = async (action: Action, nowMs: number): Promise<readonly unknown[]> => {
      watched.calls.length = 0
      const { allowed, remaining } = await limit.decide('a', action, nowMs)
      return [allowed, remaining, ...watched.calls.map(({ args }) => (args[0] === `${nowMs}` ? 'full' : 'hot'))]
    }
    // The store asks first what it has to ask.
    await limit.decide('first', take(1), NOW_MS)
    expect(await ask(lend(1, 100), NOW_MS)).toEqual([true, 89, 'full'])
    expect(await ask(lend(2, 200), NOW_MS)).toEqual([true, 78, 'full'])
    expect(await ask(take(8), NOW_MS)).toEqual([true, 70, 'hot'])
    expect(await ask({ type: 'peek', amount: 1 }, NOW_MS + 99)).toEqual([true, 70, 'hot'])
    expect(await ask(take(71), NOW_MS + 99)).toEqual([false, 70, 'hot'])
    expect(await ask(take(1), NOW_MS + 100)).toEqual([true, 69, 'hot', 'full'])
    expect(await ask(take(1), NOW_MS + 100)).toEqual([true, 68, 'hot'])
    await ask({ type: 'block', amount: 50 }, NOW_MS + 100)
    expect(await ask(take(1), NOW_MS + 149)).toEqual([false, 0, 'hot'])
    expect(await ask(take(1), NOW_MS + 150)).toEqual([true, 67, 'hot'])
    expect(await ask(take(1), NOW_MS + 200)).toEqual([true, 66, 'hot', 'full'])
    expect(await ask(take(1), NOW_MS + 200)).toEqual([true, 65, 'hot'])
  })

  it('is found by its id, and not by an amount or an end that is the same number', async () => {
    const limit = openLimit(redisStore(redis), { limiter: `ids ${count++}`, rule })
    for (const holdId of [1, 10, NOW_MS + 100]) await limit.decide('a', lend(holdId, 100), NOW_MS)
    const left = await limit.decide('a', { type: 'settle', holdId: 10, amount: 4 }, NOW_MS)
    expect([left.allowed, left.remaining]).toEqual([true, 100 - 3 - 10 - 4 - 10])
    const none = await limit.decide('a', { type: 'settle', holdId: 10, amount: 4 }, NOW_MS)
    expect(none.reason).toBe('reservation-ended')
    expect((await limit.decide('a', { type: 'settle', holdId: NOW_MS + 100, amount: 0 }, NOW_MS)).allowed).toBe(true)
  })

  it.each([1, 2])('keeps its grants where %i limits are asked, also where a window keeps its TTL', async (size) => {
    const store = redisStore(redis)
    const windows = fixedWindow({ limit: 100, window: 3_600_000 })
    const limits = Array.from({ length: size }, (_, tier) =>
      openLimit(store, { limiter: `kept ${count++}`, tier: `${tier}`, rule: windows }),
    )
    const all = async (action: Action): Promise<number[]> => {
      const operations = limits.map(({ limit }) => operationOn(limit, 'a', action))
      return (await decideCall(store, operations, STORE_TIME)).map(({ remaining }) => remaining)
    }
    const each = (remaining: number): number[] => limits.map(() => remaining)
    expect(await all(take(1))).toEqual(each(99))
    expect(await all(lend(1, 60_000))).toEqual(each(88))
    expect(await all(take(1))).toEqual(each(87))
    expect(await all({ type: 'settle', holdId: 1, amount: 4 })).toEqual(each(93))
  })

  it('has no grant by an idempotency key, and says so', async () => {
    const limit = openLimit(redisStore(redis), { limiter: `once ${count++}`, rule })
    const operations = [operationOn(limit.limit, 'a', lend(1, 100))]
    const store = redisStore(redis)
    store.register(limit.limit)
    const asked = decideCall(store, operations, NOW_MS, { key: 'id', ttlMs: 1_000 })
    await expect(asked).rejects.toThrow('sluice: a grant is of one request, and it has no id')
  })
})

it.each([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redis)],
])('a grant that a reset kept is counted by the rule of the reset, in %s', async (_, openStore) => {
  const rule = slidingLog({ limit: 2, window: 61_000 })
  const limit = openLimit(openStore(), { limiter: `kept ${count++}`, rule, rulesVary: true })
  const grant = { want: 12, soon: 2, soonMs: 1, endedId: 0, endedUsed: 0 }
  const lent = await limit.decide('a', { type: 'grant', amount: 1, holdId: 1, holdMs: 250, grant }, NOW_MS)
  expect(lent.granted).toMatchObject({ units: 1, lastsMs: 42 })
  await limit.decide('a', { type: 'reset' }, NOW_MS + 1)
  // It has just ended. Its unit goes over to the other rule as used now, as all that was counted by another rule.
  const other = slidingLog({ limit: 1, window: 7 })
  const asked = await limit.decide('a', { type: 'consume', amount: 1 }, NOW_MS + 42, other)
  expect(asked).toMatchObject({ allowed: false, retryAfterMs: 7, resetAfterMs: 7 })
})

describe.each(lendingModes)('grants of $title', (mode) => {
  it('are decided on Redis as in memory, whatever others do', async () => {
    const property = fc.asyncProperty(lendingRules(mode), turns, starts, expectTwins)
    await fc.assert(property, { numRuns: runs('twin') })
  })
})

it('a take from several limits keeps a key with a grant until both are over', async () => {
  const store = redisStore(redis)
  const rule = tokenBucket({ capacity: 100, refill: 1, period: 10_000 })
  const [lent, other] = ['lent', 'other'].map((tier) => openLimit(store, { limiter: `kept ${count}`, tier, rule }))
  count++
  if (lent === undefined || other === undefined) throw new Error('two limits were opened')
  const grant = { want: 11, soon: 0, soonMs: 1_000, endedId: 0, endedUsed: 0 }
  await lent.decide('key', { type: 'grant', amount: 1, holdId: 7, holdMs: 60_000, grant }, STORE_TIME)
  const taking = [lent, other].map(({ limit }) => operationOn(limit, 'key', { type: 'consume', amount: 50 }))
  const [taken] = await decideCall(store, taking, STORE_TIME)
  // 61 units come back in 610 s, those of the grant from its end on.
  expect(taken).toMatchObject({ allowed: true, remaining: 39 })
  const ttlMs = await redis.pttl(redisKey(DEFAULT_PREFIX, lent.limit, 'key'))
  expect(ttlMs).toBeLessThanOrEqual(taken?.resetAfterMs as number)
  expect(ttlMs).toBeGreaterThan(600_000)
})
