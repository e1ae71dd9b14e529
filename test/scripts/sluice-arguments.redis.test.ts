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
const WINDOW = 'sliding-window 100 60000 -'
const BUCKET = 'token-bucket 10 5 1000 -'

/** Runs the script as a person would: keys, and the arguments of tiers in one text. */
async function run(keys: readonly string[], tiers: string, idMs = '0', nowMs = NOW): Promise<number[]> {
  const args = tiers.split(' ').filter((word) => word !== '')
  return (await redis.eval(getScript('sluice').source, keys.length, ...keys, nowMs, idMs, ...args)) as number[]
}

/** What the script says, if it has left the server as it was. */
async function refusal(keys: readonly string[], tiers: string, idMs?: string, nowMs?: string): Promise<string> {
  const before = await everything()
  const message = await errorOf(run(keys, tiers, idMs, nowMs))
  expect(await everything()).toEqual(before)
  return message
}

async function everything(): Promise<readonly (readonly [string, string])[]> {
  const keys = (await redis.keys('*')).sort()
  return Promise.all(keys.map(async (key) => [key, (await redis.dumpBuffer(key)).toString('hex')] as const))
}

describe('a call of tiers is refused, and nothing is written, when', () => {
  it('a time or an idMs is wrong', async () => {
    for (const time of ['-2', '1.5', 'nan', 'inf', 'now', '', '9007199254740992']) {
      expect(await refusal(['a'], `${WINDOW} 1`, '0', time)).toBe(
        `ERR sluice: nowMs must be a whole number of at least 0, got ${time}`,
      )
    }
    for (const idMs of ['-1', '1.5', 'nan', 'inf', '', 'x', '315619200001']) {
      expect(await refusal(['a', 'id'], `${WINDOW} 1`, idMs)).toBe(
        `ERR sluice: idMs must be a whole number from 0 to 315619200000, got ${idMs}`,
      )
    }
  })

  it('a rule is unknown or missing', async () => {
    const known = `ERR sluice: a rule is ${ruleNames().join(', ')}, got `
    for (const name of ['lottery', 'tiers', 'sliding-window@1', 'slidingWindow', '1', '-']) {
      expect(await refusal(['a', 'b'], `${WINDOW} 1 ${name} 1 1 1 1`)).toBe(`${known}${name}`)
    }
    expect(await refusal(['a', 'b'], `${WINDOW} 1`)).toBe(`${known}nil`)
    expect(await refusal(['a'], '')).toBe(`${known}nil`)
  })

  it.each(ruleNames())('a parameter of %s is missing or wrong', async (name) => {
    const { parameters } = readRule(name)
    const names = (isRequired: boolean): string[] =>
      parameters.filter(({ fallback }) => (fallback === undefined) === isRequired).map((parameter) => parameter.name)
    const [required, optional] = [names(true), names(false)]
    const numbers = required.map((parameter): string => (parameter.endsWith('Ms') ? '60000' : '10'))
    for (const [index, parameter] of required.entries()) {
      const wanted = `ERR sluice: ${parameter} must be a whole number of at least 1, got `
      expect(await refusal(['a'], [name, ...numbers.slice(0, index)].join(' '))).toBe(`${wanted}nil`)
      for (const wrong of ['0', '-1', '1.5', 'nan', 'inf', '-inf', '9007199254740992', 'ten', '-']) {
        const words = [...numbers.with(index, wrong), ...optional.map(() => '-'), '1']
        expect(await refusal(['a'], [name, ...words].join(' '))).toBe(`${wanted}${wrong}`)
      }
    }
    // What has a default has to be named too: a request would be taken for it.
    const size = required.length + optional.length
    for (let count = required.length; count <= size; count++) {
      const words = [...numbers, ...Array<string>(count - required.length).fill('-')]
      expect(await refusal(['a'], [name, ...words].join(' '))).toBe(
        `ERR sluice: the tier ${name} takes ${size} parameters, - for a default, and a request, got ${count}`,
      )
    }
    for (const [index, parameter] of optional.entries()) {
      const words = [...numbers, ...optional.map(() => '-').with(index, '1.5'), '1']
      expect(await refusal(['a'], [name, ...words].join(' '))).toMatch(
        new RegExp(`^ERR sluice: ${parameter} must be .+, got 1\\.5$`),
      )
    }
    expect(await run(['a'], [name, ...numbers, ...optional.map(() => '-'), '1'].join(' '))).toHaveLength(3)
  })

  it('products leave the exact whole numbers', async () => {
    expect(await refusal(['a', 'b'], `${WINDOW} 1 token-bucket ${2 ** 53 - 1} 1 1000 - 1`)).toMatch(
      /^ERR sluice: \(capacity \+ maxDebt\) \* periodMs must stay below 2\^53, got \d+$/,
    )
  })

  it.each(['', 'shadow:', 'changing:', 'changing:shadow:'])('a request after "%s" is none', async (prefix) => {
    for (const request of MALFORMED) {
      // No argument can be empty here: they are one text.
      if (request.includes(' ') || `${prefix}${request}` === '') continue
      expect(await refusal(['a', 'b'], `${WINDOW} 1 ${BUCKET} ${prefix}${request}`)).toBe(`${REQUESTS}${request}`)
      expect(await refusal(['a', 'b'], `${BUCKET} ${prefix}${request} ${WINDOW} 1`)).toBe(`${REQUESTS}${request}`)
    }
    for (const [request, message] of WRONG_NUMBERS) {
      expect(await refusal(['a', 'b'], `${WINDOW} 1 ${BUCKET} ${prefix}${request}`)).toBe(`ERR sluice: ${message}`)
    }
    for (const cost of ['0', '-1', '1.5', 'nan', 'inf', '1e300']) {
      expect(await refusal(['a', 'b'], `${WINDOW} 1 ${BUCKET} ${prefix}${cost}`)).toMatch(
        /^ERR sluice: the cost must be a whole number of at least 1, got /,
      )
    }
  })

  it('the prefixes of a request are in another order, or repeat', async () => {
    for (const request of [
      'shadow:changing:1',
      'changing:changing:1',
      'shadow:shadow:1',
      'Shadow:1',
      'shadow',
      'changing',
    ]) {
      expect(await refusal(['a'], `${WINDOW} ${request}`)).toMatch(/^ERR sluice: a request must be a cost, .+, got \w+/)
    }
  })

  it('a key comes twice, or too many or too few of them', async () => {
    const twice = 'ERR sluice: each tier must have its own key, got twice '
    expect(await refusal(['a', 'b', 'a'], `${WINDOW} 1 ${BUCKET} 1 ${WINDOW} 1`)).toBe(`${twice}a`)
    expect(await refusal(['a', 'b', 'b'], `${WINDOW} 1 ${BUCKET} 1`, '1000')).toBe(`${twice}b`)
    expect(await refusal(['a'], `${WINDOW} 1 ${BUCKET} 1`)).toBe(
      'ERR sluice: 1 tiers take fewer arguments, remove those from token-bucket',
    )
    expect(await refusal(['a', 'b'], `${WINDOW} 1 ${BUCKET} 1`, '1000')).toBe(
      'ERR sluice: 1 tiers take fewer arguments, remove those from token-bucket',
    )
    expect(await refusal([], `${WINDOW} 1`)).toBe('ERR sluice: KEYS must have 1 to 1000 keys, got 0')
    expect(await refusal(['a'], `${WINDOW} 1`, '1000')).toBe(
      'ERR sluice: with idMs, KEYS must have a key for each tier and then the key of the id, got 1 key',
    )
    const keys = Array.from({ length: 1_001 }, (_, index) => `key ${index}`)
    expect(await refusal(keys, `${WINDOW} 1 `.repeat(1_001))).toBe(
      'ERR sluice: KEYS must have 1 to 1000 keys, got 1001',
    )
    expect(await run(keys.slice(1), `${WINDOW} 1 `.repeat(1_000))).toHaveLength(3_000)
  })

  it('a key holds something else', async () => {
    const both = `${WINDOW} 1 ${BUCKET} 1`
    const any = /^WRONGTYPE /
    await redis.set('a', 'a session')
    expect(await refusal(['a', 'b'], both)).toBe(FOREIGN)
    expect(await refusal(['b', 'a'], both)).toBe(FOREIGN)
    await redis.rpush('list', 'an entry')
    expect(await refusal(['list', 'b'], both)).toMatch(any)
    expect(await refusal(['b', 'list'], both)).toMatch(any)
    expect(await refusal(['b', 'list'], `${WINDOW} 1`, '1000')).toMatch(any)
    await redis.set('a', doubles(-5.5, ...Array<number>(24).fill(1)))
    expect(await refusal(['a', 'b'], both)).toBe(FOREIGN)
    expect(await refusal(['a', 'b'], `sliding-log 10 1000 - changing:1 ${BUCKET} 1`)).toBe(FOREIGN)
    await redis.set('a', doubles(1, 1, 1))
    expect(await refusal(['b', 'a'], both)).toBe(FOREIGN)
  })

  it('the key of an id holds no answer, or one for other tiers', async () => {
    const other =
      'ERR sluice: the key of the id holds something else than an answer for as many tiers, and it was left as it is'
    for (const text of ['a session', 'x'.repeat(16), 'x'.repeat(32), '', '0'.repeat(32)]) {
      await redis.set('id', text)
      expect(await refusal(['a', 'id'], `${WINDOW} 1`, '1000')).toBe(other)
    }
    await redis.del('id')
    await run(['a', 'id'], `${WINDOW} 1`, '1000')
    expect(await refusal(['a', 'b', 'id'], `${WINDOW} 1 ${BUCKET} 1`, '1000')).toBe(other)
    const answer = (await redis.getBuffer('id')) as Buffer
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.5, -2, 1e300]) {
      for (let at = 0; at < answer.length; at += 8) {
        const broken = Buffer.from(answer)
        broken.writeDoubleLE(number, at)
        await redis.set('id', broken)
        expect(await refusal(['a', 'id'], `${WINDOW} 1`, '1000'), `${number} at ${at}`).toBe(other)
      }
    }
    await redis.set('id', answer)
    // Also when it is over: with a caller's time it lies there for a while.
    expect(await refusal(['a', 'b', 'id'], `${WINDOW} 1 ${BUCKET} 1`, '1000', '1700000001000')).toBe(other)
    expect((await run(['a', 'id'], `${WINDOW} 1`, '1000', '1700000001000'))[0]).toBe(98)
  })

  it('the parameters that a state was counted by are not those of this rule', async () => {
    await run(['a'], `${WINDOW} changing:1`)
    const value = (await redis.getBuffer('a')) as Buffer
    expect(await refusal(['a'], `${WINDOW} 1`)).toBe(FOREIGN)
    expect(await refusal(['a'], 'fixed-window 10 1000 - - changing:1')).toBe(FOREIGN)
    const length = value.readDoubleLE(8)
    for (const wrong of [0, -1, 1e9, Number.NaN, 1.5, length - 1, length + 1]) {
      const broken = Buffer.from(value)
      broken.writeDoubleLE(wrong, 8)
      await redis.set('a', broken)
      expect(await refusal(['a'], `${WINDOW} changing:1`), `a text of ${wrong}`).toBe(FOREIGN)
    }
    for (let size = 16; size < value.length; size += 8) {
      await redis.set('a', value.subarray(0, size))
      expect(await refusal(['a'], `${WINDOW} changing:1`), `the first ${size} bytes`).toBe(FOREIGN)
    }
    const rule = value.subarray(16, 16 + length).toString()
    for (const text of ['sliding-window 100 60000 x', 'sliding-window 000 60000 -', 'sliding-window 100 60000']) {
      await redis.set('a', Buffer.from(value.toString('latin1').replace(rule, text.padEnd(length)), 'latin1'))
      expect(await refusal(['a'], `${WINDOW} changing:1`), text).toBe(FOREIGN)
    }
  })
})

it('takes costs that are spelt in another way from all tiers or from none', async () => {
  for (const cost of ['+2', '2e0', '0x2', '2.0', '2:blockFor:1', '0x2:blockFor:1', 'reserve:2:1:1000']) {
    await redis.flushall()
    const refused = await run(['a', 'b'], `${BUCKET} ${cost} ${WINDOW} 101`)
    expect(refused, cost).toEqual([10, 0, 0, ...[-1, 100, 0, -1]])
    expect(await redis.dbsize()).toBe(0)
    const taken = await run(['a', 'b'], `${BUCKET} ${cost} ${WINDOW} 100`)
    // A minute of 100 of which 20 seconds are over.
    expect(taken, cost).toEqual([8, taken[1], 200, ...[0, 100_000, 40_000]])
  }
})

it('says when more passes, however the cost is spelt', async () => {
  for (const cost of ['2', '+2', '0x2', '2:blockFor:1', 'reserve:2:1:90000']) {
    await redis.flushall()
    const refused = await run(['a', 'b'], `${BUCKET} ${cost} ${WINDOW} 101`)
    expect(refused, cost).toEqual([10, 0, 0, ...[-1, 100, 0, -1]])
    expect(await redis.dbsize()).toBe(0)
    // A minute of 100 of which 20 seconds are over: in the next one a single request counts for nothing.
    const taken = await run(['a', 'b'], `${BUCKET} ${cost} ${WINDOW} shadow:1`)
    expect(taken, cost).toEqual([8, taken[1], 200, ...[99, 100_000, 40_000]])
    // Refused by the other: the bucket is only looked at, and still tells.
    const again = await run(['a', 'b'], `${BUCKET} 1 ${WINDOW} 101`)
    expect([again[0], again[2]], cost).toEqual([8, 200])
  }
})

it('tells the time of a decision', async () => {
  // Ten seconds before the window that the key is in, by a rule whose windows start elsewhere: it is decided at the start of the old.
  const [start, before] = [1_699_999_980_000, '1699999970000']
  await run(['a'], 'fixed-window 10 60000 - - changing:1')
  expect((await run(['a'], 'fixed-window 10 11000 - - changing:1', '1@', before)).at(-1)).toBe(start)
})

it('blocks no key in shadow mode', async () => {
  const both = `${BUCKET} shadow:10:blockFor:5000 ${WINDOW} 1`
  await run(['a', 'b'], both)
  expect(await run(['a', 'b'], both)).toEqual([...[-1, 0, 2_000, 2_000], ...[98, 100_000, 40_000]])
  expect(await run(['a'], `${BUCKET} peek:10`)).toEqual([-1, 0, 2_000, 2_000])
})
