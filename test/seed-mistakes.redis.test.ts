import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  leakyBucket,
  memoryStore,
  type Rule,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'
import { redisStore } from '../src/stores/redis/redis-store.ts'
import { type ManualClock, manualClock } from '../src/testing/index.ts'
import { patient } from './patient.ts'
import type { Address } from './servers/ask.ts'
import { useServer } from './servers/shared-servers.ts'
import { startServer } from './servers/start-server.ts'

// The requests for Sluice came with scripts, and each of these is a mistake in one of them. The numbers are theirs.

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})
beforeEach(() => redis.flushall())

describe.each<[string, () => Store]>([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redis)],
])('on %s', (_, createStore) => {
  function limit(
    rule: Rule,
    startMs = 0,
  ): { clock: ManualClock; limiter: Limiter; consume(cost?: number): Promise<Decision> } {
    const clock = manualClock(startMs)
    const limiter = createLimiter({ name: 'seed', rule, clock, store: createStore(), ...patient })
    return { clock, limiter, consume: (cost = 1) => limiter.consume('client', { cost }) }
  }

  it.each([250, 750, 1])('counts a window of %d ms and ends it', async (windowMs) => {
    for (const rule of [
      fixedWindow({ limit: 2, window: windowMs }),
      slidingWindow({ limit: 2, window: windowMs }),
      slidingLog({ limit: 2, window: windowMs }),
    ]) {
      const { clock, consume } = limit(rule, 1_000_000)
      await consume(2)
      const refused = await consume()
      expect(refused.allowed).toBe(false)
      expect(refused.resetAfterMs).toBeLessThanOrEqual(2 * windowMs)
      clock.advance(refused.retryAfterMs)
      expect((await consume()).allowed).toBe(true)
    }
  })

  it('says when the next request passes after 10 of 10 at the edge of a window', async () => {
    const { clock, consume } = limit(slidingWindow({ limit: 10, window: 1_000 }), 1_000_999)
    await consume(10)
    expect((await consume()).retryAfterMs).toBe(1)
    clock.set(1_001_000)
    expect((await consume()).allowed).toBe(true)
    expect((await consume()).retryAfterMs).toBe(100)
    clock.set(1_001_099)
    expect((await consume()).allowed).toBe(false)
    clock.set(1_001_100)
    expect((await consume()).allowed).toBe(true)
  })

  it('counts requests of the same millisecond each, in a log too', async () => {
    const { consume } = limit(slidingLog({ limit: 1_000, window: 60_000 }), 1_000)
    for (let request = 1; request <= 1_000; request++) expect((await consume()).remaining).toBe(1_000 - request)
    expect((await consume()).allowed).toBe(false)
  })

  it('tells a cost that is greater than the capacity that it never passes', async () => {
    const { consume } = limit(tokenBucket({ capacity: 5, refill: 1, period: 1_000 }))
    expect(await consume(10)).toMatchObject({ allowed: false, retryAfterMs: Infinity, reason: 'cost-exceeds-limit' })
    expect((await consume(5)).allowed).toBe(true)
  })

  it('does not drain a bucket when the clock steps back, and does not make its client wait for it', async () => {
    const { clock, consume } = limit(tokenBucket({ capacity: 5, refill: 1, period: 1_000 }), 1_000_000)
    await consume(4)
    clock.set(1_000_000 - 97_000)
    expect(await consume()).toMatchObject({ allowed: true, remaining: 0 })
    expect(await consume()).toMatchObject({ allowed: false, retryAfterMs: 1_000 })
  })

  it('mints nothing by a negative cost', async () => {
    const { limiter, consume } = limit(tokenBucket({ capacity: 5, refill: 1, period: 1_000 }))
    await expect(consume(-100)).rejects.toThrow('cost must be a whole number of at least 1, got -100')
    expect((await limiter.peek('client')).remaining).toBe(5)
  })

  it('keeps the fraction of a leak: six requests in five seconds when polled every 100 ms at one a second', async () => {
    const { clock, consume } = limit(leakyBucket({ capacity: 1, leak: 1, period: 1_000 }))
    let admitted = 0
    for (let poll = 0; poll <= 50; poll++) {
      if ((await consume()).allowed) admitted++
      clock.advance(100)
    }
    expect(admitted).toBe(6)
  })

  it('never blocks a key without end after a refund: every window ends', async () => {
    const { clock, limiter, consume } = limit(fixedWindow({ limit: 1, window: 1_000, anchor: 'first-hit' }))
    await limiter.refund('client')
    await consume()
    await limiter.refund('client', 5)
    await consume()
    expect(await consume()).toMatchObject({ allowed: false, retryAfterMs: 1_000 })
    clock.advance(1_000)
    expect((await consume()).allowed).toBe(true)
  })
})

it.each([250, 750, 1])('a key of a window of %d ms expires on the server', async (windowMs) => {
  const rules = [
    fixedWindow({ limit: 2, window: windowMs }),
    slidingWindow({ limit: 2, window: windowMs }),
    slidingLog({ limit: 2, window: windowMs }),
  ]
  for (const rule of rules) {
    const { resetAfterMs } = await createLimiter({ name: 'seed', rule, ...patient, store: redisStore(redis) }).consume(
      'client',
    )
    expect(resetAfterMs).toBeLessThanOrEqual(2 * windowMs)
  }
  const lives = await Promise.all((await redis.keys('*')).map((key) => redis.pttl(key)))
  for (const lifeMs of lives) expect(lifeMs).not.toBe(-1)
  for (const lifeMs of lives) expect(lifeMs).toBeLessThanOrEqual(2 * windowMs)
})

it.each([
  fixedWindow({ limit: 5, window: 1_000 }),
  slidingWindow({ limit: 5, window: 1_000 }),
  slidingLog({ limit: 5, window: 1_000 }),
])('keeps all of a subject under one key that no input can steer: $kind', async (rule) => {
  const clock = manualClock(999)
  const limiter = createLimiter({ name: 'seed', rule, ...patient, store: redisStore(redis), clock })
  for (let step = 0; step < 5; step++) {
    await limiter.consume('{slot}client')
    clock.advance(700)
  }
  expect(await redis.keys('*')).toEqual([`sluice:seed:${rule.stateName}:%7Bslot%7Dclient`])
})

it('keeps counting a log on a server that was restarted, with nothing that repeats itself', async () => {
  const rule = slidingLog({ limit: 100, window: 60_000 })
  const clock = manualClock(1_000)
  const limiter = createLimiter({ name: 'seed', rule, ...patient, store: redisStore(redis), clock })
  for (let request = 0; request < 50; request++) await limiter.consume('client')
  const [key] = await redis.keys('*')
  const saved = await redis.dumpBuffer(key as string)
  const other = await startServer()
  const restarted = new Redis(other.port, other.host)
  await restarted.restore(key as string, 60_000, saved as Buffer)
  const again = createLimiter({ name: 'seed', rule, ...patient, store: redisStore(restarted), clock })
  for (let request = 0; request < 50; request++) expect((await again.consume('client')).allowed).toBe(true)
  expect(await again.consume('client')).toMatchObject({ allowed: false, remaining: 0 })
  await restarted.quit()
  await other.stop()
})

it('never blocks a key without end when it has lost its TTL', async () => {
  for (const anchor of ['clock', 'first-hit'] as const) {
    const rule = fixedWindow({ limit: 1, window: 1_000, anchor })
    const clock = manualClock(1_000_000)
    const limiter = createLimiter({ name: anchor, rule, ...patient, store: redisStore(redis), clock })
    await limiter.consume('client')
    const [key] = await redis.keys(`sluice:${anchor}:*`)
    expect(await redis.persist(key as string)).toBe(1)
    expect(await limiter.consume('client')).toMatchObject({ allowed: false, retryAfterMs: 1_000 })
    clock.advance(1_000)
    expect(await limiter.consume('client')).toMatchObject({ allowed: true })
    expect(await redis.pttl(key as string)).toBeGreaterThan(0)
  }
})
