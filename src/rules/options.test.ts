import { describe, expect, it } from 'vitest'
import { everyRule, madeBy } from '../../test/rule-registry.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Rule } from '../core/rule.ts'
import * as rules from './index.ts'

type Options = Record<string, unknown>
const good: Readonly<Record<string, Options>> = Object.assign({}, ...everyRule.map(({ samples }) => samples.good))
const products = everyRule.flatMap(({ samples }) => samples.products ?? [])
const MAX = Number.MAX_SAFE_INTEGER
const TIMES = ['window', 'period', 'lease']
const TEN_YEARS_MS = 3_653 * 86_400_000
const wrongNumbers = [
  0,
  -1,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  '10',
  null,
  undefined,
  {},
  [10],
  10n,
  true,
]

it.each([
  ['slidingWindow', 'max', 'limit'],
  ['fixedWindow', 'points', 'limit'],
  ['fixedWindow', 'windowMs', 'window'],
  ['tokenBucket', 'max', 'capacity'],
  ['tokenBucket', 'duration', 'period'],
  ['gcra', 'window', 'period'],
])('%s() takes %s of another library for %s', (name, foreign, own) => {
  const message = `${name}() has no option "${foreign}", did you mean "${own}"?`
  expect(() => madeBy(name, { [foreign]: 1 })).toThrow(expect.objectContaining({ message }))
})

it('concurrency() has no word for a window', () => {
  const message = 'concurrency() has no option "window": it takes limit, lease, maxDebt'
  expect(() => madeBy('concurrency', { window: '1m' })).toThrow(expect.objectContaining({ message }))
})

it('there are good options of every factory', () => {
  expect(Object.keys(good).sort()).toEqual(Object.keys(rules).sort())
})

describe.each(Object.entries(good))('%s', (name, options) => {
  const factory = (given: Options): Rule => madeBy(name, given)

  it.each(Object.keys(options))('refuses a wrong %s', (option) => {
    for (const wrong of wrongNumbers) {
      expect(() => factory({ ...options, [option]: wrong }), String(wrong)).toThrow(LimiterError)
      expect(() => factory({ ...options, [option]: wrong })).toThrow(
        new RegExp(
          `^${option} must be (a whole number (of at least|from) 1|from 1 ms to 10 years|a duration such as '250ms')`,
        ),
      )
    }
  })

  it('refuses an unknown option, a wrong debt, and a value that is not an object', () => {
    expect(() => factory({ ...options, color: 1 })).toThrow(`${name}() has no option "color": it takes `)
    expect(() => factory({ ...options, maxDept: 1 })).toThrow(
      `${name}() has no option "maxDept", did you mean "maxDebt"?`,
    )
    for (const wrong of [-1, 0.5, Number.NaN, '1', null, MAX]) {
      expect(() => factory({ ...options, maxDebt: wrong }), String(wrong)).toThrow(
        /^maxDebt must be a whole number from 0 to \d+, got /,
      )
    }
    expect(factory({ ...options, maxDebt: 0 }).parameters.maxDebt).toBe(0)
    for (const wrong of [undefined, null, 10, 'limit', [options]]) {
      expect(() => factory(wrong as unknown as Options)).toThrow(`${name}() takes options such as { `)
    }
  })

  it('takes every length of time from 1 ms to 10 years, and none beyond', () => {
    const time = Object.keys(options).find((option) => TIMES.includes(option)) as string
    const count = Object.keys(options)[0] as string
    for (const ms of [1, '250ms', '1h30m', TEN_YEARS_MS])
      expect(factory({ ...options, [count]: 1, [time]: ms }).limit).toBeGreaterThan(0)
    expect(() => factory({ ...options, [time]: TEN_YEARS_MS + 1 })).toThrow(
      `${time} must be from 1 ms to 10 years (3653d), got ${TEN_YEARS_MS + 1}`,
    )
  })
})

describe('products stay below 2^53', () => {
  it.each(products)('%s takes %s up to there and refuses it beyond', (name, product, count, time) => {
    const factory = (given: Options): Rule => madeBy(name, given)
    const most = Math.floor(MAX / 86_400_000)
    const rule = factory({ ...good[name], [count]: most, [time]: 86_400_000 })
    expect(rule.limit).toBe(most)
    expect(((rule.parameters.maxDebt as number) + most) * 86_400_000).toBeLessThanOrEqual(MAX)
    expect(() => factory({ ...good[name], [count]: most + 1, [time]: 86_400_000 })).toThrow(
      `${product} must stay below 2^53, got ${most + 1} × 86400000: at most ${most} × 86400000 is counted exactly`,
    )
  })
})

describe('choices', () => {
  it('are refused when they are none', () => {
    expect(() => rules.fixedWindow({ limit: 1, window: 1, anchor: 'first' as 'clock' })).toThrow(
      `anchor must be 'clock' or 'first-hit', got "first"`,
    )
    expect(() => rules.leakyBucket({ capacity: 1, leak: 1, period: 1, mode: null as never })).toThrow(
      `mode must be 'police' or 'shape', got null`,
    )
    expect(() => rules.leakyBucket({ capacity: 1, leak: 1, period: 1, maxWait: 5 })).toThrow(
      `maxWait needs mode: 'shape'; mode 'police' never waits. Remove maxWait`,
    )
    expect(() => rules.leakyBucket({ capacity: 1, leak: 1, period: 1, mode: 'shape', maxWait: -1 })).toThrow(
      'maxWait must be at least 0 ms, got -1',
    )
    expect(() => rules.strictWindow({ limit: 1, window: 5, slices: 6 })).toThrow(
      'slices must be a whole number from 1 to 5, got 6',
    )
    expect(() => rules.gcra({ limit: 1, period: 5, burst: 0 })).toThrow(
      'burst must be a whole number of at least 1, got 0',
    )
  })

  it('have the documented defaults', () => {
    expect(rules.fixedWindow({ limit: 4, window: 9 }).parameters).toEqual({
      limit: 4,
      windowMs: 9,
      anchor: 'clock',
      maxDebt: 4,
    })
    expect(rules.strictWindow({ limit: 4, window: 25 }).parameters).toEqual({
      limit: 4,
      windowMs: 25,
      slices: 10,
      maxDebt: 4,
    })
    expect(rules.strictWindow({ limit: 4, window: 3 }).parameters).toMatchObject({ windowMs: 3, slices: 3 })
    expect(rules.gcra({ limit: 4, period: 9 })).toMatchObject({
      kind: 'token-bucket',
      parameters: { capacity: 4, refill: 4 },
    })
    expect(rules.leakyBucket({ capacity: 4, leak: 3, period: 10 }).parameters).toMatchObject({
      mode: 'police',
      maxWaitMs: 14,
    })
  })
})
