import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readRule, ruleNames } from '../../scripts/lua/assemble.mjs'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { type RunningServer, startServer } from '../servers/start-server.ts'

let server: RunningServer
let redis: Redis
beforeAll(async () => {
  server = await startServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
  await server.stop()
})
afterEach(() => redis.flushall())

const NOW = '1700000000000'

/** Runs a script on one key as a person would. */
const run = (name: string, ...args: string[]): Promise<unknown> =>
  redis.eval(getScript(name).source, 1, 'user:123', ...args)

/** What the server said, without the place in the script that it adds. */
async function errorOf(running: Promise<unknown>): Promise<string> {
  const error = await running.then(
    () => expect.fail('the script did not refuse'),
    (reason: Error) => reason,
  )
  return error.message.replace(/ script: .*$/, '')
}

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
    expect(reply).toMatchObject([1, 9, 0, expect.any(Number), 0])
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
    for (const request of [
      '',
      'peek:-1',
      'peek7',
      'unblock:7',
      'reset:7',
      'take:1',
      'peek 1',
      'charge:1.5',
      'constructor',
      ':1',
      'peek:1:2',
    ]) {
      expect(await errorOf(run(name, ...start, NOW, request))).toBe(
        `ERR sluice: a request is a cost or peek, charge, giveBack, block, unblock or reset, got ${request}`,
      )
    }
    expect(await errorOf(run(name, ...start, NOW, 'block'))).toBe(
      'ERR sluice: the milliseconds of a block must be a whole number from 1 to 315619200000, got nil',
    )
    expect(await errorOf(run(name, ...start, NOW, 'charge:0'))).toBe(
      'ERR sluice: the amount of a charge must be a whole number of at least 1, got 0',
    )
    expect(await errorOf(run(name, ...start, NOW, 'giveBack:99999999999999999'))).toMatch(
      /^ERR sluice: the amount of a giveBack must be a whole number of at least 1, got /,
    )
    expect(await redis.dbsize()).toBe(0)
  })

  it('leaves what is not its own as it is', async () => {
    const start = good.slice(0, required.length)
    await redis.set('user:123', 'a session')
    expect(await errorOf(run(name, ...start, NOW))).toBe(
      'ERR sluice: the key holds something else than a state of this rule, and it was left as it is',
    )
    expect(await redis.get('user:123')).toBe('a session')
    await redis.del('user:123')
    await redis.rpush('user:123', 'a', 'b')
    expect(await errorOf(run(name, ...start, NOW))).toMatch(/^WRONGTYPE /)
    expect(await redis.lrange('user:123', 0, -1)).toEqual(['a', 'b'])
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
    expect(await both('1', '1')).toMatchObject([1, 9, 0, expect.any(Number), 0, 1, 9, 0, expect.any(Number), 0])
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

it('refuses a state of another rule or another number of slices, blocked or not', async () => {
  const foreign = 'ERR sluice: the key holds something else than a state of this rule, and it was left as it is'
  await run('strict-window', '10', '1000', NOW, '1', '5')
  expect(await errorOf(run('strict-window', '10', '1000', NOW, '1', '6'))).toBe(foreign)
  await run('strict-window', '10', '1000', NOW, 'block:5000', '5')
  expect(await errorOf(run('sliding-window', '10', '1000', NOW))).toBe(foreign)
  expect(await run('strict-window', '10', '1000', NOW, 'unblock', '5')).toMatchObject([1, 9, 0, 1_200, 0])
})

it('refuses more keys than one call should take', async () => {
  const keys = Array.from({ length: 1_001 }, (_, index) => `key ${index}`)
  const { source } = getScript('fixed-window')
  expect(await errorOf(redis.eval(source, keys.length, ...keys, '10', '60000'))).toBe(
    'ERR sluice: one call decides at most 1000 keys, got 1001',
  )
  expect(await redis.eval(source, 1_000, ...keys.slice(1), '10', '60000')).toHaveLength(5_000)
})
