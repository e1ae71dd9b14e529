import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { patient } from '../../../test/patient.ts'
import { type WatchedConnection, watchedConnection } from '../../../test/redis/watched-connection.ts'
import type { Address } from '../../../test/servers/ask.ts'
import { useServer } from '../../../test/servers/shared-servers.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { type RedisStoreOptions, redisStore } from './redis-store.ts'

let server: Address
let redis: Redis
let watched: WatchedConnection
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})
beforeEach(async () => {
  await redis.flushall()
  watched = watchedConnection(redis)
})

const rule = fixedWindow({ limit: 10, window: 60_000 })

/** A limiter whose store has already asked what it has to ask first. */
async function limiterOn(options: RedisStoreOptions = {}, limited = rule): Promise<Limiter> {
  const limiter = createLimiter({
    name: 'api',
    rule: limited,
    clock: manualClock(0),
    store: redisStore(watched, options),
    ...patient,
  })
  await limiter.consume('user:other')
  watched.calls.length = 0
  return limiter
}

const sizes = (): number[] => watched.calls.map(({ keys }) => keys.length)
const foreign = 'the key holds something else than a state of this rule, and it was left as it is'

describe('decisions of one turn', () => {
  it('leave at once when nothing is under way, and together when something is', async () => {
    const limiter = await limiterOn()
    const first = limiter.consume('a')
    expect(sizes()).toEqual([1])
    const others = ['b', 'c', 'd'].map((key) => limiter.consume(key))
    expect(sizes()).toEqual([1])
    await Promise.all([first, ...others])
    expect(sizes()).toEqual([1, 3])
    const next = limiter.consume('a')
    expect(sizes()).toEqual([1, 3, 1])
    await next
  })

  it('leave at once also for a caller that asks again as soon as it has an answer', async () => {
    const limiter = await limiterOn()
    let sent = 0
    await limiter.consume('a').then(() => {
      const next = limiter.consume('b')
      sent = watched.calls.length
      return next
    })
    expect(sent).toBe(2)
  })

  it('leave when half of the recent number is waiting, so that the server can begin', async () => {
    const limiter = await limiterOn()
    const burst = () => Promise.all(Array.from({ length: 40 }, (_, index) => limiter.consume(`user:${index}`)))
    await burst()
    expect(sizes()).toEqual([1, 16, 16, 7])
    watched.calls.length = 0
    await burst()
    expect(sizes()).toEqual([1, 20, 19])
  })

  it('have a verdict each, in the order in which they were asked for', async () => {
    const limiter = await limiterOn()
    const costs = [1, 1, 4, 1, 9, 1, 1, 1, 1]
    const decisions = await Promise.all(costs.map((cost) => limiter.consume('a', { cost })))
    expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 8, 4, 3, 3, 2, 1, 0, 0])
    expect(decisions.map(({ allowed }) => allowed)).toEqual(costs.map((_, index) => index !== 4 && index !== 8))
  })

  it('name a key once for all that ask the same of it', async () => {
    const limiter = await limiterOn()
    await Promise.all(['x', 'a', 'a', 'b', 'a'].map((key) => limiter.consume(key)))
    expect(watched.calls[1]?.keys).toHaveLength(2)
    expect(watched.calls[1]?.args.slice(5)).toEqual(['3*1', '1'])
    expect((await limiter.peek('a')).remaining).toBe(7)
  })

  it('stay together on one key where a client keeps the keys of a Cluster apart', async () => {
    watched = { ...watched, isCluster: true, keepsKeysApart: true }
    const limiter = await limiterOn()
    const decisions = await Promise.all(['x', 'a', 'b', 'a', 'a'].map((key) => limiter.consume(key)))
    expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 9, 9, 8, 7])
    expect(sizes()).toEqual([1, 1, 1])
    expect(watched.calls[1]?.args.at(-1)).toBe('3*1')
  })

  it('say once what all of them ask', async () => {
    const limiter = await limiterOn()
    await Promise.all(['x', 'a', 'b', 'c'].map((key) => limiter.consume(key, { cost: 3 })))
    expect(watched.calls[1]?.args).toEqual(['10', '60000', 'clock', '0', '0', '3'])
    expect((await limiter.peek('c')).remaining).toBe(7)
  })

  it('keep their order when they ask different things of one key', async () => {
    const limiter = await limiterOn()
    const [, , , , last] = await Promise.all([
      limiter.consume('x'),
      limiter.consume('a', { cost: 10 }),
      limiter.refund('a', 4),
      limiter.consume('a', { cost: 3 }),
      limiter.consume('a', { cost: 1 }),
      limiter.reset('a'),
    ])
    expect(last).toMatchObject({ allowed: true, remaining: 0 })
    expect((await limiter.peek('a')).remaining).toBe(10)
    // The hot decisions before the refund, and then all others by the full script, in one call.
    expect(sizes().slice(1, 3)).toEqual([1, 4])
  })

  it('are never more in one call than maxBatch', async () => {
    const limiter = await limiterOn({ maxBatch: 4 })
    await Promise.all(Array.from({ length: 11 }, (_, index) => limiter.consume(`user:${index}`)))
    expect(sizes()).toEqual([1, 4, 4, 2])
  })

  it('are fewer in one call where states are long, so that no call holds the server up', async () => {
    const limiter = await limiterOn({}, slidingLog({ limit: 1_000, window: 60_000 }))
    await Promise.all(Array.from({ length: 20 }, (_, index) => limiter.consume(`user:${index}`)))
    expect(sizes()).toEqual([1, 9, 9, 1])
  })

  it('use the time at which each was asked for', async () => {
    const clock = manualClock(0)
    const bucket = tokenBucket({ capacity: 1, refill: 1, period: 1_000 })
    const options = { name: 'timed', rule: bucket, clock, ...patient }
    const limiter = createLimiter({ ...options, store: redisStore(watched) })
    await limiter.consume('x')
    const asked = [limiter.consume('x'), limiter.consume('a'), limiter.consume('a')]
    clock.advance(1_000)
    asked.push(limiter.consume('a'))
    expect((await Promise.all(asked)).map(({ allowed }) => allowed)).toEqual([false, true, false, true])
  })
})

describe('a key that holds something else', () => {
  it('fails decisions about it, and no others', async () => {
    const limiter = await limiterOn()
    await redis.set('sluice:api:fixed-window@1:b', 'a session')
    const asked = ['x', 'a', 'b', 'c', 'b', 'a'].map((key) => limiter.consume(key))
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, false, true])
    expect(outcomes[2]).toMatchObject({ reason: { message: expect.stringContaining(foreign) } })
    expect((await limiter.peek('a')).remaining).toBe(8)
    expect(await redis.get('sluice:api:fixed-window@1:b')).toBe('a session')
  })

  it('of another type fails only calls about it', async () => {
    const limiter = await limiterOn()
    await redis.lpush('sluice:api:fixed-window@1:b', 'a session')
    const outcomes = await Promise.allSettled(['x', 'a', 'b', 'c'].map((key) => limiter.consume(key)))
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true])
    expect((await limiter.peek('c')).remaining).toBe(9)
  })

  it('of one tier fails only the decisions over it', async () => {
    const limiter = createLimiter({
      name: 'chat',
      tiers: { user: rule, all: rule },
      store: redisStore(watched),
      ...patient,
    })
    await redis.set('sluice:chat~user:fixed-window@1:b', 'a session')
    const asked = ['x', 'a', 'b', 'c'].map((user) => limiter.consume({ user, all: 'all' }))
    const outcomes = await Promise.allSettled(asked)
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true])
    expect((await limiter.peek({ all: 'all' })).remaining).toBe(7)
  })
})

describe('a call that fails', () => {
  it('fails every call in it once, and is not sent again', async () => {
    const limiter = await limiterOn()
    const first = limiter.consume('x')
    watched.before = () => {
      throw new Error('the connection is gone')
    }
    const outcomes = await Promise.allSettled([first, ...['a', 'b', 'a'].map((key) => limiter.consume(key))])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected'])
    expect(outcomes[3]).toMatchObject({
      reason: { code: 'STORE_FAILED', message: 'Redis did not decide by fixed-window: the connection is gone' },
    })
    expect(sizes()).toEqual([1, 2])
    watched.before = () => {}
    expect((await limiter.consume('a')).remaining).toBe(9)
  })

  it('fails every decision over tiers in it', async () => {
    const limiter = createLimiter({
      name: 'chat',
      tiers: { user: rule, all: rule },
      store: redisStore(watched),
      ...patient,
    })
    await limiter.consume({ user: 'x', all: 'all' })
    const first = limiter.consume({ user: 'x', all: 'all' })
    watched.before = () => {
      throw new Error('the connection is gone')
    }
    const others = ['a', 'b'].map((user) => limiter.consume({ user, all: 'all' }))
    const outcomes = await Promise.allSettled([first, ...others])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  })
})

describe('decisions over tiers of one turn', () => {
  it('go in one call, in order, and take from all of their tiers or from none', async () => {
    const tiers = { user: rule, all: fixedWindow({ limit: 4, window: 60_000 }) }
    const limiter = createLimiter({
      name: 'chat',
      tiers,
      clock: manualClock(0),
      store: redisStore(watched),
      ...patient,
    })
    await limiter.consume({ user: 'x', all: 'all' })
    watched.calls.length = 0
    const asked = ['x', 'a', 'a', 'b', 'a'].map((user) => limiter.consume({ user, all: 'all' }))
    const decisions = await Promise.all(asked)
    expect(sizes()).toEqual([2, 8])
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false])
    expect(decisions.map(({ tiers: { user } }) => user?.remaining)).toEqual([8, 9, 8, 10, 8])
  })

  it('do not wait for those over other tiers, and keep their order with what is asked of one', async () => {
    const limiter = createLimiter({
      name: 'chat',
      tiers: { user: rule, all: rule },
      clock: manualClock(0),
      store: redisStore(watched),
      ...patient,
    })
    const [, one, both, again] = await Promise.all([
      limiter.consume({ user: 'a', all: 'all' }),
      limiter.consume({ user: 'a' }, { cost: 8 }),
      limiter.consume({ user: 'a', all: 'all' }, { idempotencyKey: 'first' }),
      limiter.consume({ user: 'a', all: 'all' }),
    ])
    expect([one, both, again].map((decision) => decision?.allowed)).toEqual([true, true, false])
  })
})
