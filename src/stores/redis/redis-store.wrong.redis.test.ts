import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { patient } from '../../../test/patient.ts'
import { ownConnection } from '../../../test/redis/own-connection.ts'
import { ruleNames } from '../../../test/rule-registry.ts'
import type { Address } from '../../../test/servers/ask.ts'
import { useServer } from '../../../test/servers/shared-servers.ts'
import type { Rule } from '../../core/rule.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import type { RedisConnection } from './clients/redis-connection.ts'
import { redisStore } from './redis-store.ts'

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})

const rule = fixedWindow({ limit: 10, window: 60_000 })
const limiterOn = (client: RedisConnection) =>
  createLimiter({ name: 'api', rule, store: redisStore(client), ...patient })

describe('redisStore refuses', () => {
  it('options that are wrong', () => {
    expect(() => redisStore(redis, { prefx: 'a' } as never)).toThrow(
      'redisStore() has no option "prefx", did you mean "prefix"?',
    )
    expect(() => redisStore(redis, { prefix: 5 as never })).toThrow(
      'prefix must be a string of at most 100 characters, got 5',
    )
    expect(() => redisStore(redis, { prefix: 'x'.repeat(101) })).toThrow('prefix must be a string of at most 100')
    expect(() => redisStore(redis, { maxBatch: 0 })).toThrow('maxBatch must be a whole number from 1 to 1000, got 0')
    expect(() => redisStore(redis, { garnetLuaTransactions: 'yes' as never })).toThrow(
      'garnetLuaTransactions must be true or false, got "yes"',
    )
  })

  it('a rule that has no script, and one that lacks what its script takes', () => {
    const own: Rule = { ...rule, kind: 'lottery' }
    expect(() => createLimiter({ name: 'a', rule: own, store: redisStore(redis), ...patient })).toThrow(
      `redisStore has no script for the rule "lottery"; rules are ${ruleNames.join(', ')}`,
    )
    const lacking: Rule = { ...rule, parameters: { limit: 10 } }
    expect(() => createLimiter({ name: 'a', rule: lacking, store: redisStore(redis), ...patient })).toThrow(
      'the rule fixed-window has no parameter windowMs, which its script takes',
    )
  })

  it.each([[null], [[1]], [[1, 2]], [[1, 2, 3, 4]], [[-1, 1, 2, 3, 4]], [[1, 'x']], ['OK'], [[1, 2 ** 60]]])(
    'the reply %j',
    async (reply) => {
      const strange = ownConnection(redis, async (_key, [name]) => (name === 'EVAL' ? 0 : reply))
      await expect(limiterOn(strange).consume('a')).rejects.toMatchObject({
        code: 'STORE_FAILED',
        message: `Redis must answer with the answers to 1 requests in whole numbers, got ${reply}`,
      })
    },
  )

  it('a connection that throws instead of rejecting', async () => {
    const throwing = ownConnection(redis, (_key, [name]) => {
      if (name === 'EVAL') return Promise.resolve(0)
      throw new Error('closed')
    })
    await expect(limiterOn(throwing).consume('a')).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'Redis did not decide by fixed-window: closed',
    })
  })

  it('a server that has lost a script and does not take its text', async () => {
    let isAsked = false
    const broken = ownConnection(redis, async (_key, [name]) => {
      if (name === 'EVALSHA') throw new Error('NOSCRIPT No matching script')
      if (isAsked) throw new Error('NOPERM this user has no permissions to run the command')
      isAsked = true
      return 0
    })
    await expect(limiterOn(broken).consume('a')).rejects.toMatchObject({
      code: 'STORE_DENIED',
      message: expect.stringContaining('NOPERM this user has no permissions to run the command'),
    })
  })

  it('an id that cannot be looked up across slots', async () => {
    const broken = ownConnection(redis, async (_key, [name]) => {
      if (name === 'EVAL') return 0
      throw new Error(name === 'GET' ? 'down' : "CROSSSLOT Keys in request don't hash to the same slot")
    })
    const limiter = createLimiter({
      name: 'x',
      tiers: { user: rule, ip: rule },
      store: redisStore(broken),
      ...patient,
      // With an id it is tried again and again, until the deadline.
      timeout: 200,
    })
    await expect(limiter.consume('a', { idempotencyKey: 'one' })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'Redis did not answer GET: down',
    })
  })

  it('a decision that fails, and says what it was to be decided by', async () => {
    const broken = ownConnection(redis, () => Promise.reject(new Error('down')))
    const soon = { ...patient, timeout: 200 }
    const failsBy = (limiter: Limiter<string>, by: string, options = {}) => {
      return expect(limiter.consume('a', options)).rejects.toMatchObject({
        code: 'STORE_FAILED',
        message: `Redis did not decide by ${by}: down`,
      })
    }
    const one = () => redisStore(broken)
    await failsBy(createLimiter({ name: 'one', rule, store: one(), ...soon }), 'fixed-window')
    await failsBy(createLimiter({ name: 'one', rule, store: one(), ...soon }), 'fixed-window', {
      idempotencyKey: 'one',
    })
    await failsBy(
      createLimiter({ name: 'plans', rule, resolveRule: () => undefined, store: one(), ...soon }),
      'fixed-window',
    )
    const tiers = { user: rule, ip: rule }
    await failsBy(createLimiter({ name: 'tiers', tiers, store: one(), ...soon }), 'tiers')
  })

  it('the reply to one tier where there are two', async () => {
    const short = ownConnection(redis, async (_key, [name]) => (name === 'EVAL' ? 0 : [1, 2, 3]))
    const limiter = createLimiter({
      name: 'short',
      tiers: { user: rule, ip: rule },
      store: redisStore(short),
      ...patient,
    })
    await expect(limiter.consume('a')).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: 'Redis must answer with the answers to 2 requests in whole numbers, got 1,2,3',
    })
  })
})
