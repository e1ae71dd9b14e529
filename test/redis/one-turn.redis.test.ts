import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Decision } from '../../src/core/decision.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { fixedWindow, tokenBucket } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { openLimit } from '../open-limit.ts'
import { patient } from '../patient.ts'
import { useServer } from '../servers/shared-servers.ts'

let redis: Redis
beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())

type Tiered = Limiter<'user' | 'ip'>
const one = (limiter: Tiered): Promise<Decision> => limiter.consume({ user: 'ann' })
const both = (limiter: Tiered): Promise<Decision> => limiter.consume({ user: 'ann', ip: '::1' })
const twice = (limiter: Tiered): Promise<Decision> => limiter.consume({ user: 'ann' }, { idempotencyKey: 'order 7' })

it.each([
  ['one tier, both, one', [one, both, one]],
  ['both tiers, one, both', [both, one, both]],
  ['each in turn', [one, both, one, both, one, both]],
  ['with an id between them', [both, twice, one, both, one]],
])('decisions of one turn on one key are made in their order: %s', async (title, calls) => {
  const tiers = { user: fixedWindow({ limit: 10, window: 60_000 }), ip: fixedWindow({ limit: 20, window: 60_000 }) }
  const store = redisStore(redis)
  await using limiter = createLimiter({ name: `turn ${title}`, tiers, store, clock: manualClock(0), ...patient })
  const decisions = await Promise.all(calls.map((call) => call(limiter)))
  expect(decisions.map((decision) => decision.tiers.user?.remaining)).toEqual(calls.map((_, index) => 9 - index))
})

it('what the hot script hands over keeps its place also when the script runs for the first time', async () => {
  const store = redisStore(redis)
  // The store has asked the engine for its atomicity, and has not loaded the script of the bucket.
  await openLimit(store, { limiter: 'first', rule: fixedWindow({ limit: 1, window: 1_000 }) }).decide(
    'k',
    { type: 'peek', amount: 1 },
    0,
  )
  const rule = tokenBucket({ capacity: 8, refill: 1, period: 1_000 })
  const { decide } = openLimit(store, { limiter: 'first', rule })
  const seen = await Promise.all([
    decide('held', { type: 'reserve', amount: 3, holdId: 1, holdMs: 60_000 }, 0),
    decide('held', { type: 'consume', amount: 1 }, 0),
    decide('other', { type: 'charge', amount: 1 }, 0),
    decide('held', { type: 'consume', amount: 1 }, 0),
    decide('held', { type: 'block', amount: 250 }, 0),
  ])
  expect(seen.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 5],
    [true, 4],
    [true, 7],
    [true, 3],
    [false, 0],
  ])
})
