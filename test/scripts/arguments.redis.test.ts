import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readRule, ruleNames } from '../../scripts/lua/read-rule.mjs'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { doubles, errorOf, FOREIGN, MALFORMED, REQUESTS, WRONG_NUMBERS } from './wrong-requests.ts'

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})
afterEach(() => redis.flushall())

const NOW = '1700000000000'

/** Runs a script on one key as a person would. */
const run = (name: string, ...args: string[]): Promise<unknown> =>
  redis.eval(getScript(name).source, 1, 'user:123', ...args)

const WRONG = ['', '0', '-1', '1.5', 'nan', 'inf', '-inf', '9007199254740992', 'ten', '1 2']

describe.each(ruleNames())('%s', (name) => {
  const { parameters } = readRule(name)
  const good = parameters.map(({ name: parameter, choices, fallback, least }) => {
    if (choices) return fallback as string
    return parameter.endsWith('Ms') ? '60000' : least === '0' ? '5' : '10'
  })
  const required = parameters.filter((parameter) => parameter.fallback === undefined)
  const withGood = (index: number, value: string): string[] => {
    const given = good.with(index, value)
    return [...given.slice(0, required.length), NOW, '1', ...given.slice(required.length)]
  }

  it('decides with just what it needs', async () => {
    const reply = await run(name, ...good.slice(0, required.length))
    const [, , nextAfterMs, resetAfterMs] = reply as number[]
    expect(reply).toEqual([1, 9, nextAfterMs, resetAfterMs, 0])
    expect(nextAfterMs).toBeGreaterThan(0)
    expect(resetAfterMs).toBeGreaterThanOrEqual(nextAfterMs as number)
    expect(await redis.pttl('user:123')).toBeGreaterThan(0)
  })

  it.each(parameters.map((parameter, index) => [parameter.name, parameter, index] as const))(
    'refuses a wrong %s and writes nothing',
    async (_, { name: parameter, choices, least, most }, index) => {
      const wrong = choices ? ['', 'Clock', '1'] : WRONG.filter((value) => !(least === '0' && value === '0'))
      for (const value of wrong) {
        const range = most === undefined ? `of at least ${least}` : `from ${least} to ${most}`
        const rule = choices ? choices.join(' or ') : `a whole number ${range}`
        expect(await errorOf(run(name, ...withGood(index, value)))).toBe(
          `ERR sluice: ${parameter} must be ${rule}, got ${value}`,
        )
      }
      expect(await redis.dbsize()).toBe(0)
    },
  )

  it('says what is missing', async () => {
    expect(await errorOf(run(name))).toBe(
      `ERR sluice: ${required[0]?.name} must be a whole number of at least 1, got nil`,
    )
  })

  it('refuses a wrong time, cost, amount or word and writes nothing', async () => {
    const start = good.slice(0, required.length)
    for (const time of ['-2', '1.5', 'nan', 'now', '']) {
      expect(await errorOf(run(name, ...start, time))).toBe(
        `ERR sluice: nowMs must be a whole number of at least 0, got ${time}`,
      )
    }
    for (const cost of ['0', '-1', '1.5', 'nan', 'inf', '1e300']) {
      expect(await errorOf(run(name, ...start, NOW, cost))).toMatch(
        /^ERR sluice: the cost must be a whole number of at least 1, got /,
      )
    }
    for (const request of [...MALFORMED, 'shadow:1', 'changing:1']) {
      expect(await errorOf(run(name, ...start, NOW, request))).toBe(`${REQUESTS}${request}`)
    }
    for (const [request, message] of WRONG_NUMBERS) {
      expect(await errorOf(run(name, ...start, NOW, request))).toBe(`ERR sluice: ${message}`)
    }
    expect(await redis.dbsize()).toBe(0)
  })

  it('leaves what is not its own as it is', async () => {
    const start = good.slice(0, required.length)
    await redis.set('user:123', 'a session')
    expect(await errorOf(run(name, ...start, NOW))).toBe(FOREIGN)
    expect(await redis.get('user:123')).toBe('a session')
    await redis.del('user:123')
    await redis.rpush('user:123', 'a', 'b')
    expect(await errorOf(run(name, ...start, NOW))).toMatch(/^WRONGTYPE /)
    expect(await redis.lrange('user:123', 0, -1)).toEqual(['a', 'b'])
  })

  it('leaves what only starts like a block or like holds as it is', async () => {
    const start = good.slice(0, required.length)
    const holds = doubles(-5.5, ...Array<number>(24).fill(1))
    const block = doubles(Number.NEGATIVE_INFINITY, 1, 2)
    const values = [
      // Five holds take 26 numbers: one less, and it is none of ours, whatever a rule's own state is as long as.
      ...Array.from({ length: 25 }, (_, index) => holds.subarray(0, 8 * (index + 1))),
      ...Array.from({ length: 25 }, (_, index) => Buffer.concat([block, holds.subarray(0, 8 * (index + 1))])),
      ...[2, 3, 4, 12].flatMap((count) =>
        [-0.5, -0.25, 1.5, Number.NaN].map((mark) => doubles(mark, ...Array<number>(count - 1).fill(1))),
      ),
      doubles(Number.NEGATIVE_INFINITY, 1),
      Buffer.concat([block, doubles(-1.5, 1, 1, 1, 1, 1), Buffer.from('more')]),
    ]
    for (const value of values) {
      await redis.set('user:123', value)
      for (const request of ['1', 'peek', 'reset', 'reserve:1:1:1000']) {
        expect(await errorOf(run(name, ...start, NOW, request))).toBe(FOREIGN)
      }
      expect((await redis.getBuffer('user:123'))?.equals(value)).toBe(true)
    }
  })

  it('decides all keys of a call or none', async () => {
    const start = good.slice(0, required.length)
    const both = (...requests: string[]): Promise<unknown> =>
      redis.eval(getScript(name).source, 2, 'first', 'second', ...start, NOW, ...requests)
    expect(await errorOf(both('1', '-1'))).toMatch(/^ERR sluice: the cost must be/)
    expect(await redis.exists('first')).toBe(0)
    await redis.sadd('second', 'a member')
    expect(await errorOf(both('1', '1'))).toBe(
      'ERR sluice: a key holds something else than a state of this rule, and it was left as it is',
    )
    expect(await redis.exists('first')).toBe(0)
    expect(await redis.smembers('second')).toEqual(['a member'])
    await redis.del('second')
    const times = [expect.any(Number), expect.any(Number)]
    expect(await both('1', '1')).toMatchObject([1, 9, ...times, 0, 1, 9, ...times, 0])
  })
})

it('refuses products that leave the exact whole numbers', async () => {
  const most = `${2 ** 53 - 1}`
  expect(await errorOf(run('token-bucket', most, '1', '1000'))).toMatch(
    /^ERR sluice: \(capacity \+ maxDebt\) \* periodMs must stay below 2\^53, got \d+$/,
  )
  expect(await errorOf(run('sliding-window', most, '2'))).toMatch(
    /^ERR sluice: \(limit \+ maxDebt\) \* windowMs must stay below 2\^53, got \d+$/,
  )
})

it('refuses a state of another rule, blocked or not', async () => {
  await run('strict-window', '10', '1000', NOW, '1', '5')
  expect(await errorOf(run('token-bucket', '10', '10', '1000', NOW))).toBe(FOREIGN)
  await run('strict-window', '10', '1000', NOW, 'block:5000', '5')
  expect(await errorOf(run('sliding-window', '10', '1000', NOW))).toBe(FOREIGN)
  expect(await run('strict-window', '10', '1000', NOW, 'unblock', '5')).toMatchObject([1, 9, 1_200, 1_200, 0])
})

it('refuses more keys than one call should take', async () => {
  const keys = Array.from({ length: 1_001 }, (_, index) => `key ${index}`)
  const { source } = getScript('fixed-window')
  expect(await errorOf(redis.eval(source, keys.length, ...keys, '10', '60000'))).toBe(
    'ERR sluice: one call decides 1 to 1000 keys, got 1001',
  )
  expect(await errorOf(redis.eval(source, 0, '10', '60000'))).toBe('ERR sluice: one call decides 1 to 1000 keys, got 0')
  expect(await redis.dbsize()).toBe(0)
  expect(await redis.eval(source, 1_000, ...keys.slice(1), '10', '60000')).toHaveLength(5_000)
})

it('keeps a state whose own time is before 1970, by a clock that was set back to near it', async () => {
  const at = (nowMs: number, request: string): Promise<unknown> => run('sliding-log', '9', '60000', `${nowMs}`, request)
  for (const timeMs of [100_000, 100_001, 100_002]) await at(timeMs, '1')
  await at(0, 'peek')
  // What is left was taken at -2 and -1. It is none of two holds or one.
  expect(await at(0, 'refund:1')).toEqual([1, 7, 59_998, 59_999, 0])
  expect(await at(0, 'refund:1')).toEqual([1, 8, 59_998, 59_998, 0])
  expect(await at(0, 'reserve:1:5:1000')).toEqual([1, 7, 1_000, 59_998, 0])
})
