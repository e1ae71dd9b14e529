import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { patient } from '../../../test/patient.ts'
import { ownConnection } from '../../../test/redis/own-connection.ts'
import type { Address } from '../../../test/servers/ask.ts'
import { useServer } from '../../../test/servers/shared-servers.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import type { RedisConnection } from './clients/redis-connection.ts'
import { type RedisStoreOptions, redisStore } from './redis-store.ts'
import { getScript, listScripts } from './script-catalog.ts'

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})
beforeEach(async () => {
  await redis.flushall()
  await redis.script('FLUSH')
  await redis.config('RESETSTAT')
})

const rule = fixedWindow({ limit: 10, window: 60_000 })
const limiterOn = (client: Redis | RedisConnection, options?: RedisStoreOptions) =>
  createLimiter({ name: 'api', rule, store: redisStore(client, options), ...patient })

/** How often the server has run a command since the test began. */
async function callsOf(command: string): Promise<number> {
  const stats = await redis.info('commandstats')
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
}

describe('a decision', () => {
  it('is made by Redis', async () => {
    const decision = await limiterOn(redis).consume('user:42', { cost: 3 })
    expect(decision).toMatchObject({ allowed: true, limit: 10, remaining: 7, retryAfterMs: 0, decidedBy: 'redis' })
    expect(decision.resetAfterMs).toBeGreaterThan(0)
    expect(decision.resetAfterMs).toBeLessThanOrEqual(60_000)
  })

  it('is kept under the prefix, the name, the state and the subject', async () => {
    await limiterOn(redis).consume('user:42')
    await limiterOn(redis, { prefix: 'app{1}:' }).consume({ kind: 'ip', name: '::1' })
    expect((await redis.keys('*')).sort()).toEqual([
      'app{1}:api:fixed-window@1:ip~::1',
      'sluice:api:fixed-window@1:user:42',
    ])
  })

  it.each([
    ['fixed', fixedWindow],
    ['sliding', slidingWindow],
  ])('by a longer %s window keeps longer what a shorter one has counted', async (kind, window) => {
    const shorter = createLimiter({
      name: 'api',
      rule: window({ limit: 9, window: 60_000 }),
      store: redisStore(redis),
      ...patient,
    })
    const longer = createLimiter({
      name: 'api',
      rule: window({ limit: 9, window: 600_000 }),
      store: redisStore(redis),
      ...patient,
    })
    const name = `sluice:api:${kind}-window@1:a`
    for (const limiter of [shorter, shorter, longer, longer]) {
      const { resetAfterMs } = await limiter.consume('a')
      expect(Math.abs((await redis.pttl(name)) - resetAfterMs)).toBeLessThan(1_000)
    }
  })

  it('over tiers is kept under a key for each, with its name, and one for an id', async () => {
    const bucket = tokenBucket({ capacity: 5, refill: 1, period: 1_000 })
    const tiers = { user: rule, 'all: of us': { rule: bucket, resolveRule: () => undefined } }
    const apart = createLimiter({ name: 'chat', tiers, store: redisStore(redis), ...patient })
    await apart.consume({ user: 'user:42', 'all: of us': 'all' }, { idempotencyKey: 'order 7' })
    const together = createLimiter({ name: 'tagged', tiers, store: redisStore(redis), ...patient, hashTag: true })
    await together.consume({ user: 'a{b}', 'all: of us': 'all' })
    const single = createLimiter({
      name: 'plans',
      rule,
      resolveRule: () => undefined,
      store: redisStore(redis),
      ...patient,
    })
    await single.consume('user:42')
    expect((await redis.keys('*')).sort()).toEqual([
      'sluice:chat~all%3A%20of%20us:token-bucket@1+rule:all',
      'sluice:chat~user:fixed-window@1:user:42',
      'sluice:plans:fixed-window@1+rule:user:42',
      'sluice:tagged~all%3A%20of%20us:token-bucket@1+rule:{all}',
      'sluice:tagged~user:fixed-window@1:{a%7Bb%7D}',
      '{sluice:chat~user:fixed-window@1:user:42}id~["user","all:%20of%20us","order%207"]',
    ])
  })

  it('over tiers is one run of one script', async () => {
    const limiter = createLimiter({
      name: 'chat',
      tiers: { user: rule, ip: rule },
      store: redisStore(redis),
      ...patient,
    })
    await limiter.consume({ user: '42', ip: '::1' })
    await redis.config('RESETSTAT')
    expect((await limiter.consume({ user: '42', ip: '::1' }, { cost: { ip: 3 } })).tiers.ip?.remaining).toBe(6)
    expect(await callsOf('evalsha')).toBe(1)
    expect([await callsOf('mget'), await callsOf('set'), await callsOf('time')]).toEqual([1, 2, 1])
  })

  it('takes its time from the server, or from the clock that was given', async () => {
    const clock = manualClock(59_000)
    const timed = createLimiter({ name: 'timed', rule, store: redisStore(redis), ...patient, clock })
    expect((await timed.consume('a', { cost: 10 })).resetAfterMs).toBe(1_000)
    clock.advance(1_000)
    expect((await timed.consume('a')).remaining).toBe(9)
    await limiterOn(redis).consume('a')
    expect(await callsOf('time')).toBe(1)
  })

  it('is exact where the numbers arrive as texts', async () => {
    const texts = new Redis(server.port, server.host, { stringNumbers: true })
    const bucket = tokenBucket({ capacity: 5, refill: 1, period: 1_000 })
    const limiter = createLimiter({
      name: 'texts',
      rule: bucket,
      store: redisStore(texts),
      ...patient,
      clock: manualClock(0),
    })
    await limiter.consume('a', { cost: 5 })
    expect(await limiter.consume('a', { cost: 2 })).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 2_000 })
    expect((await limiter.consume('a', { cost: 6 })).retryAfterMs).toBe(Number.POSITIVE_INFINITY)
    await texts.quit()
  })

  it('works on a client that connects later', async () => {
    const late = new Redis(server.port, server.host, { lazyConnect: true })
    const limiter = limiterOn(late)
    expect(late.status).toBe('wait')
    await late.connect()
    expect((await limiter.consume('a')).remaining).toBe(9)
    await late.quit()
  })
})

describe('two stores on one client', () => {
  it('share the keys of one prefix and nothing else', async () => {
    const [one, same, other] = [limiterOn(redis), limiterOn(redis), limiterOn(redis, { prefix: 'other:' })]
    await one.consume('a', { cost: 4 })
    expect((await same.consume('a')).remaining).toBe(5)
    expect((await other.consume('a')).remaining).toBe(9)
    await one.reset('a')
    expect((await other.peek('a')).remaining).toBe(9)
  })
})

describe('a script', () => {
  it('is loaded at its first use and run by its SHA-1 from then on', async () => {
    const limiter = limiterOn(redis, { maxBatch: 1 })
    await Promise.all(Array.from({ length: 7 }, () => limiter.consume('a')))
    for (let request = 0; request < 3; request++) await limiter.consume('a')
    expect(await callsOf('script\\|load')).toBe(1)
    expect(await callsOf('evalsha')).toBe(10)
    // The one that asks what the engine is.
    expect(await callsOf('eval')).toBe(1)
  })

  it('is sent with the request when the server has lost it, and loaded again', async () => {
    const limiter = limiterOn(redis)
    await limiter.consume('a')
    await redis.script('FLUSH')
    const decisions = await Promise.all(Array.from({ length: 9 }, () => limiter.consume('a')))
    expect(decisions.map((decision) => decision.remaining)).toEqual([8, 7, 6, 5, 4, 3, 2, 1, 0])
    expect((await limiter.consume('a')).allowed).toBe(false)
    await vi.waitFor(async () => expect(await callsOf('script\\|load')).toBe(2))
  })

  it('is never sent twice when it may have counted', async () => {
    const broken = ownConnection(redis, async (_key, [name = '', ...args]) => {
      const reply = await redis.call(name, args)
      if (name === 'EVALSHA') throw new Error('ERR the connection broke after NOSCRIPT was spelt out')
      return reply
    })
    await redis.script('LOAD', getScript('fixed-window').source)
    await expect(limiterOn(broken).consume('a')).rejects.toMatchObject({
      name: 'LimiterError',
      code: 'STORE_FAILED',
      message: 'Redis did not decide by fixed-window: ERR the connection broke after NOSCRIPT was spelt out',
      cause: expect.any(Error),
    })
    expect(broken.sent).toEqual(['EVAL', 'SCRIPT LOAD', 'EVALSHA'])
    expect((await limiterOn(redis).peek('a')).remaining).toBe(9)
  })

  it('is on every server before the first decision after warmUp()', async () => {
    const store = redisStore(redis)
    await store.warmUp()
    const known = await redis.script('EXISTS', ...listScripts().map((script) => script.sha1))
    expect(known).toEqual(listScripts().map(() => 1))
    const unconnected = new Redis(server.port, server.host, { lazyConnect: true, enableOfflineQueue: false })
    await expect(redisStore(unconnected).warmUp()).rejects.toThrow("Stream isn't writeable")
  })

  it('decides also where it cannot be loaded', async () => {
    const refusing = ownConnection(redis)
    const limiter = limiterOn({ ...refusing, sendToAll: () => Promise.reject(new Error('NOPERM no SCRIPT for you')) })
    expect((await limiter.consume('a')).remaining).toBe(9)
    expect((await limiter.consume('a')).remaining).toBe(8)
  })
})

describe('an engine', () => {
  it('that is Garnet is refused, unless an option says that its scripts are atomic', async () => {
    const garnet = ownConnection(redis, async (_key, [name = '', ...args]) =>
      name === 'EVAL' ? 1 : redis.call(name, args),
    )
    await redis.script('LOAD', getScript('fixed-window').source)
    await expect(limiterOn(garnet).consume('a')).rejects.toMatchObject({
      code: 'UNSAFE_ENGINE',
      message:
        'the server is Garnet, whose Lua scripts are atomic only with --lua-transaction-mode. ' +
        'Start it with that option, and set redisStore(client, { garnetLuaTransactions: true })',
    })
    expect(garnet.sent).toEqual(['EVAL'])
    const trusted = limiterOn(garnet, { garnetLuaTransactions: true })
    expect((await trusted.consume('a')).remaining).toBe(9)
    expect(garnet.sent).toEqual(['EVAL', 'SCRIPT LOAD', 'EVALSHA'])
  })

  it('that does not let itself be asked is not refused', async () => {
    await redis.script('LOAD', getScript('fixed-window').source)
    await redis.call('ACL', 'SETUSER', 'bare', 'on', '>secret', '~sluice:*', '+evalsha', '+get', '+set', '+time')
    const bare = new Redis(server.port, server.host, { username: 'bare', password: 'secret', enableReadyCheck: false })
    expect((await limiterOn(bare).consume('a')).remaining).toBe(9)
    bare.disconnect()
  })

  it('that cannot be reached fails the decision', async () => {
    const gone = ownConnection(redis, () => Promise.reject('gone'))
    await expect(limiterOn(gone).consume('a')).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'Redis did not decide by fixed-window: gone',
    })
  })
})
