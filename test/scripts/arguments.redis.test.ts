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

const { source } = getScript('sluice')

/** Runs the full script on one key as a person would. */
const run = (rule: string, nowMs = NOW, request = '1', key = 'user:123'): Promise<unknown> =>
  redis.eval(source, 1, key, nowMs, '0', ...rule.split(' '), request)

const WRONG = ['', '0', '-1', '1.5', 'nan', 'inf', '-inf', '9007199254740992', 'ten', '1 2']

describe.each(ruleNames())('%s', (name) => {
  const { parameters } = readRule(name)
  const good = parameters.map(({ name: parameter, choices, fallback, least }) => {
    if (choices) return fallback as string
    return parameter.endsWith('Ms') ? '60000' : least === '0' ? '5' : '10'
  })
  const rule = [name, ...good].join(' ')
  const least = [name, ...good.map((value, index) => (parameters[index]?.fallback === undefined ? value : '-'))].join(
    ' ',
  )

  it('decides with just what it needs', async () => {
    const reply = await run(least, '-1')
    const [, resetAfterMs, nextAfterMs] = reply as number[]
    expect(reply).toEqual([9, resetAfterMs, nextAfterMs])
    expect(nextAfterMs).toBeGreaterThan(0)
    expect(resetAfterMs).toBeGreaterThanOrEqual(nextAfterMs as number)
    expect(await redis.pttl('user:123')).toBeGreaterThan(0)
  })

  it.each(parameters.map((parameter, index) => [parameter.name, parameter, index] as const))(
    'refuses a wrong %s and writes nothing',
    async (_, { name: parameter, choices, least: smallest, most }, index) => {
      const wrong = choices ? ['', 'Clock', '1'] : WRONG.filter((value) => !(smallest === '0' && value === '0'))
      for (const value of wrong) {
        const range = most === undefined ? `of at least ${smallest}` : `from ${smallest} to ${most}`
        const allowed = choices ? choices.join(' or ') : `a whole number ${range}`
        const given = [NOW, '0', name, ...good.with(index, value), '1']
        expect(await errorOf(redis.eval(source, 1, 'user:123', ...given))).toBe(
          `ERR sluice: ${parameter} must be ${allowed}, got ${value}`,
        )
      }
      expect(await redis.dbsize()).toBe(0)
    },
  )

  it('says what is missing', async () => {
    expect(await errorOf(redis.eval(source, 1, 'user:123', NOW, '0', name))).toBe(
      `ERR sluice: ${parameters[0]?.name} must be a whole number of at least 1, got nil`,
    )
  })

  it('refuses a wrong time, cost, amount or word and writes nothing', async () => {
    for (const time of ['-2', '1.5', 'nan', 'now', '']) {
      expect(await errorOf(run(rule, time))).toBe(`ERR sluice: nowMs must be a whole number of at least 0, got ${time}`)
    }
    for (const cost of ['0', '-1', '1.5', 'nan', 'inf', '1e300']) {
      expect(await errorOf(run(rule, NOW, cost))).toMatch(
        /^ERR sluice: the cost must be a whole number of at least 1, got /,
      )
    }
    for (const request of MALFORMED) {
      expect(await errorOf(run(rule, NOW, request))).toBe(`${REQUESTS}${request}`)
    }
    for (const [request, message] of WRONG_NUMBERS) {
      expect(await errorOf(run(rule, NOW, request))).toBe(`ERR sluice: ${message}`)
    }
    expect(await redis.dbsize()).toBe(0)
  })

  it('leaves what is not its own as it is', async () => {
    await redis.set('user:123', 'a session')
    expect(await errorOf(run(rule))).toBe(FOREIGN)
    expect(await redis.get('user:123')).toBe('a session')
    await redis.del('user:123')
    await redis.rpush('user:123', 'a', 'b')
    expect(await errorOf(run(rule))).toMatch(/^WRONGTYPE /)
    expect(await redis.lrange('user:123', 0, -1)).toEqual(['a', 'b'])
  })

  it('leaves what only starts like a block or like holds as it is', async () => {
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
        expect(await errorOf(run(rule, NOW, request))).toBe(FOREIGN)
      }
      expect((await redis.getBuffer('user:123'))?.equals(value)).toBe(true)
    }
  })

  it('decides all keys of a call or none', async () => {
    const both = (...requests: string[]): Promise<unknown> =>
      redis.eval(source, 2, 'first', 'second', NOW, '2*', name, ...good, ...requests)
    expect(await errorOf(both('1', '-1'))).toMatch(/^ERR sluice: the cost must be/)
    expect(await redis.exists('first')).toBe(0)
    await redis.sadd('second', 'a member')
    expect(await errorOf(both('1', '1'))).toMatch(/^WRONGTYPE /)
    expect(await redis.exists('first')).toBe(0)
    expect(await redis.smembers('second')).toEqual(['a member'])
    await redis.del('second')
    const times = [expect.any(Number), expect.any(Number)]
    expect(await both('1', '1')).toMatchObject([9, ...times, 9, ...times])
  })
})

it('refuses products that leave the exact whole numbers', async () => {
  const most = `${2 ** 53 - 1}`
  expect(await errorOf(run(`token-bucket ${most} 1 1000 -`))).toMatch(
    /^ERR sluice: \(capacity \+ maxDebt\) \* periodMs must stay below 2\^53, got \d+$/,
  )
  expect(await errorOf(run(`sliding-window ${most} 2 -`))).toMatch(
    /^ERR sluice: \(limit \+ maxDebt\) \* windowMs must stay below 2\^53, got \d+$/,
  )
})

it('refuses a state of another rule, blocked or not', async () => {
  const strict = 'strict-window 10 1000 5 -'
  await run(strict)
  expect(await errorOf(run('token-bucket 10 10 1000 -'))).toBe(FOREIGN)
  await run(strict, NOW, 'block:5000')
  expect(await errorOf(run('sliding-window 10 1000 -'))).toBe(FOREIGN)
  expect(await run(strict, NOW, 'unblock')).toEqual([9, 1_200, 1_200])
})

it('refuses more keys than one call should take', async () => {
  const keys = Array.from({ length: 1_001 }, (_, index) => `key ${index}`)
  const ask = (count: number) => {
    const given = ['-1', `${count}*`, 'fixed-window', '10', '60000', '-', '-']
    return redis.eval(source, count, ...keys.slice(0, count), ...given, ...Array<string>(count).fill('1'))
  }
  expect(await errorOf(ask(1_001))).toBe('ERR sluice: KEYS must have 1 to 1000 keys, got 1001')
  expect(await errorOf(ask(0))).toBe('ERR sluice: KEYS must have 1 to 1000 keys, got 0')
  expect(await redis.dbsize()).toBe(0)
  expect(await ask(1_000)).toHaveLength(3_000)
})

it('keeps a state whose own time is before 1970, by a clock that was set back to near it', async () => {
  const at = (nowMs: number, request: string): Promise<unknown> => run('sliding-log 9 60000 -', `${nowMs}`, request)
  for (const timeMs of [100_000, 100_001, 100_002]) await at(timeMs, '1')
  await at(0, 'peek')
  // What is left was taken at -2 and -1. It is none of two holds or one.
  expect(await at(0, 'refund:1')).toEqual([7, 59_999, 59_998])
  expect(await at(0, 'refund:1')).toEqual([8, 59_998, 59_998])
  expect(await at(0, 'reserve:1:5:1000')).toEqual([7, 60_000, 1_000])
})
