import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ruleNames } from '../../scripts/lua/read-rule.mjs'
import { getScript } from '../../src/stores/redis/script-catalog.ts'
import { useServer } from '../servers/shared-servers.ts'
import { doubles, errorOf } from './wrong-requests.ts'

// The hot script over several limits, by hand.

let redis: Redis
beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())
afterEach(() => redis.flushall())

const NOW = '1700000000000'
const WINDOW = 'sliding-window 20 60000 0'
const BUCKET = 'token-bucket 10 5 1000 10 0'
const HANDED_OVER = [-3, 0, 0, 0]

function run(keys: readonly string[], args: string): Promise<number[]> {
  return redis.eval(getScript('tiers').source, keys.length, ...keys, ...args.split(' ')) as Promise<number[]>
}

it('takes from all or from none', async () => {
  expect(await run(['u', 'i'], `${NOW} 1 ${BUCKET} ${WINDOW} 1 15`)).toEqual([9, 200, 200, 5, 100_000, 40_000])
  const before = await redis.getBuffer('u')
  expect(await run(['u', 'i'], `${NOW} 1 ${BUCKET} ${WINDOW} 1 15`)).toEqual([9, 200, 200, -1, 5, 100_000, 76_000])
  expect(await redis.getBuffer('u')).toEqual(before)
})

it('only looks where a cost is negative, and what only looks hinders no other', async () => {
  expect(await run(['u', 'i'], `${NOW} 1 ${BUCKET} ${WINDOW} 10 -20`)).toEqual([0, 2_000, 200, 20, 0, 0])
  expect(await run(['u', 'i'], `${NOW} 1 ${BUCKET} ${WINDOW} -1 1`)).toEqual([-1, 0, 2_000, 200, 19, 100_000, 40_000])
  expect(await redis.exists('i')).toBe(1)
})

it('makes several decisions one after the other, with costs of their own or the same', async () => {
  const keys = ['a', 'all', 'b', 'all', 'a', 'all']
  const remaining = (reply: readonly number[]): number[] => reply.filter((_, index) => index % 3 === 0)
  expect(remaining(await run(keys, `${NOW} 3 ${BUCKET} ${WINDOW} 1 2`))).toEqual([9, 18, 9, 16, 8, 14])
  expect(remaining(await run(keys, `${NOW} 3 ${BUCKET} ${WINDOW} 1 2 3 4 5 6`))).toEqual([7, 12, 6, 8, 2, 2])
})

it('blocks the key of the limit that refuses, and honours that', async () => {
  const both = `${NOW} 1 ${BUCKET} sliding-window 20 60000 5000`
  await run(['u', 'i'], `${both} 1 20`)
  expect(await run(['u', 'i'], `${both} 1 1`)).toEqual([9, 200, 200, -1, 0, 100_000, 40_000])
  expect(await run(['u', 'i'], `${both} 1 1`)).toEqual([9, 200, 200, -2, 40_000, 100_000, 40_000])
  expect(await redis.pttl('i')).toBeGreaterThan(100_000)
})

it('reports a wait', async () => {
  const shape = 'leaky-bucket 5 1 500 shape 9000 5 0'
  await run(['u', 'i'], `${NOW} 1 ${shape} ${WINDOW} 1 1`)
  expect((await run(['u', 'i'], `${NOW} 1 ${shape} ${WINDOW} 1 1`)).slice(0, 4)).toEqual([-503, 3, 1_000, 500])
})

it('uses the time of the server', async () => {
  const [remaining, resetAfterMs] = await run(['u', 'i'], `-1 1 fixed-window 5 60000 first-hit 0 ${WINDOW} 1 1`)
  expect([remaining, resetAfterMs]).toEqual([4, 60_000])
  await run(['u', 'i'], `-1 1 fixed-window 5 60000 first-hit 0 ${WINDOW} 1 1`)
  expect(await redis.pttl('u')).toBeLessThanOrEqual(60_000)
})

describe('hands over, and leaves as it is,', () => {
  it.each([
    ['a text', () => redis.set('i', 'a session')],
    ['a list', () => redis.rpush('i', 'an entry')],
    ['holds', () => redis.set('i', doubles(-1.5, 1, 1, 1, 1, 1, 1, 1))],
    ['a block that has not begun', () => redis.set('i', doubles(Number.NEGATIVE_INFINITY, Number(NOW) + 1, 2e12))],
    ['a state of other parameters', () => run(['u', 'i'], `${NOW} 1 ${BUCKET} sliding-window 20 1000 0 1 1`)],
    ['a state ahead of the clock', () => run(['u', 'i'], `1700000060000 1 ${BUCKET} ${WINDOW} 1 1`)],
  ])('all of a decision over %s, and what comes later on its keys', async (_, spoil) => {
    await spoil()
    const before = await Promise.all(['u', 'i'].map((key) => redis.dump(key)))
    const reply = await run(['x', 'y', 'u', 'i', 'u', 'z'], `${NOW} 3 ${BUCKET} ${WINDOW} 1 1`)
    expect(reply).toEqual([9, 200, 200, 19, 100_000, 40_000, ...Array(4).fill(HANDED_OVER).flat()])
    expect(await Promise.all(['u', 'i'].map((key) => redis.dump(key)))).toEqual(before)
    expect(await redis.exists('z')).toBe(0)
  })

  it.each(['0', '1.5', 'nan', 'x', '21', '-21'])('a cost of %s', async (cost) => {
    expect(await run(['u', 'i'], `${NOW} 1 ${BUCKET} ${WINDOW} 1 ${cost}`)).toEqual([...HANDED_OVER, ...HANDED_OVER])
    expect(await redis.dbsize()).toBe(0)
  })
})

it.each([
  ...['', '-2 1', 'x 1', '0 0', '0 1.5', `${NOW} 1`, `${NOW} 1 lottery 1 0 1`, `${NOW} 1 ${BUCKET} 1`],
  ...[
    `${NOW} 1 ${BUCKET} ${WINDOW} 1`,
    `${NOW} 1 ${BUCKET} ${WINDOW} 1 1 1`,
    `${NOW} 1 ${BUCKET} sliding-window 0 1 0 1 1`,
  ],
  `${NOW} 1 ${BUCKET} sliding-window 20 60000 -1 1 1`,
])('refuses to run with "%s"', async (args) => {
  expect(await errorOf(run(['u', 'i'], args))).toMatch(
    /^ERR sluice: tiers takes nowMs d tiers costs as its first lines say/,
  )
  expect(await redis.dbsize()).toBe(0)
})

it.each(ruleNames())('knows %s', async (name) => {
  const { parameters } = getScript(name)
  const choices: Record<string, string> = { anchor: 'clock', mode: 'police' }
  const rule = [name, ...parameters.map((parameter) => choices[parameter] ?? '60'), '0'].join(' ')
  expect((await run(['u', 'i'], `${NOW} 1 ${rule} ${rule} 1 2`)).filter((_, index) => index % 3 === 0)).toEqual([
    59, 58,
  ])
})
