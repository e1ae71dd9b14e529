import { parseDictionary, parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import type { Decision, TierResult } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import { concurrency, fixedWindow, leakyBucket, slidingLog, strictWindow, tokenBucket } from '../rules/index.ts'
import {
  composeHeaderFields,
  createLimitWriter,
  type HeaderFormat,
  type Limited,
  listLimits,
  setHeaderFields,
} from './header-fields.ts'

const NOW_MS = 1_700_000_000_500

function verdict(rule: Rule, given: Partial<TierResult> = {}): TierResult {
  const { limit } = rule
  return {
    allowed: true,
    limit,
    remaining: limit,
    retryAfterMs: 0,
    resetAfterMs: 0,
    delayMs: 0,
    reason: undefined,
    nextAfterMs: 0,
    ...given,
  }
}

function limited(name: string, rule: Rule, given: Partial<TierResult> = {}, more: Partial<Limited> = {}): Limited {
  return { name, rule, verdict: verdict(rule, given), ...more }
}

function readFields(limits: readonly Limited[], format: HeaderFormat): Record<string, string> {
  return Object.fromEntries(composeHeaderFields(limits, format, NOW_MS).map(({ name, value }) => [name, value]))
}

const day = fixedWindow({ limit: 1_000, window: 86_400_000 })
const refused = { allowed: false, remaining: 0, reason: 'limit' } as const

describe('draft-11', () => {
  it.each<[string, Limited, string, string]>([
    [
      'a window, until it ends',
      limited('day', day, { remaining: 400, resetAfterMs: 3_599_001 }),
      '"day";q=1000;w=86400',
      '"day";r=400;t=3600',
    ],
    ['an unused window', limited('day', day), '"day";q=1000;w=86400', '"day";r=1000;t=86400'],
    [
      'a log, until the next unit frees',
      limited('log', slidingLog({ limit: 5, window: 60_000 }), {
        remaining: 3,
        resetAfterMs: 60_000,
        nextAfterMs: 49_999,
      }),
      '"log";q=5;w=60',
      '"log";r=3;t=50',
    ],
    [
      'an unused strict window',
      limited('strict', strictWindow({ limit: 5, window: 30_000 })),
      '"strict";q=5;w=30',
      '"strict";r=5;t=30',
    ],
    [
      'a bucket, by its lasting rate',
      limited('bucket', tokenBucket({ capacity: 50, refill: 10, period: 1_000 }), {
        remaining: 48,
        resetAfterMs: 200,
      }),
      '"bucket";q=50;w=5',
      '"bucket";r=48;t=5',
    ],
    [
      'a bucket that fills in no whole number of seconds',
      limited('bucket', tokenBucket({ capacity: 10, refill: 7, period: 1_000 }), {
        remaining: 0,
        resetAfterMs: 1_429,
      }),
      '"bucket";q=10',
      '"bucket";r=0;t=1',
    ],
    [
      'a leaky bucket',
      limited('drip', leakyBucket({ capacity: 30, leak: 1, period: 2_000 }), { remaining: 7, resetAfterMs: 46_000 }),
      '"drip";q=30;w=60',
      '"drip";r=7;t=14',
    ],
    [
      'a window below a second',
      limited('fast', fixedWindow({ limit: 5, window: 500 }), { remaining: 1, resetAfterMs: 20 }),
      '"fast";q=5',
      '"fast";r=1;t=1',
    ],
    [
      'places',
      limited('places', concurrency({ limit: 4, lease: 30_000 }), { remaining: 1, resetAfterMs: 30_000 }),
      '"places";q=4;qu="concurrent-requests"',
      '"places";r=1',
    ],
    [
      'a refusal, until it would pass',
      limited('day', day, { ...refused, retryAfterMs: 59_001, resetAfterMs: 59_001 }),
      '"day";q=1000;w=86400',
      '"day";r=0;t=60',
    ],
    [
      'a refusal for good',
      limited('day', day, { ...refused, retryAfterMs: Number.POSITIVE_INFINITY }),
      '"day";q=1000;w=86400',
      '"day";r=0',
    ],
    [
      'what is counted, and for whom',
      limited('day', day, { remaining: 9, resetAfterMs: 1 }, { unit: 'tokens', partition: 'AQID' }),
      '"day";q=1000;w=86400;qu="tokens";pk=:AQID:',
      '"day";r=9;t=1;pk=:AQID:',
    ],
    [
      'numbers of more than 15 digits',
      limited('many', fixedWindow({ limit: Number.MAX_SAFE_INTEGER, window: 1_000 }), { resetAfterMs: 1_000 }),
      '"many";q=999999999999999;w=1',
      '"many";r=999999999999999;t=1',
    ],
  ])('tells %s', (_, limit, policy, state) => {
    expect(readFields([limit], 'draft-11')).toEqual({ 'RateLimit-Policy': policy, RateLimit: state })
    for (const text of [policy, state]) expect(parseList(text)).toHaveLength(1)
  })

  it('formats one item for each limit, in their order, whatever their names', () => {
    const names = ['burst', 'a "quoted" \\ name', 'naïve', 'comma, semicolon;', '\ud800', 'ключ']
    const rule = slidingLog({ limit: 5, window: 60_000 })
    const fields = readFields(
      names.map((name) => limited(name, rule, { nextAfterMs: 1 })),
      'draft-11',
    )
    const told = parseList(fields.RateLimit as string).map(([name]) => name)
    expect(told).toEqual([
      'burst',
      'a "quoted" \\ name',
      'na%C3%AFve',
      'comma, semicolon;',
      '%EF%BF%BD',
      '%D0%BA%D0%BB%D1%8E%D1%87',
    ])
    expect(parseList(fields['RateLimit-Policy'] as string).map(([name]) => name)).toEqual(told)
  })
})

describe('older forms', () => {
  const minute = tokenBucket({ capacity: 60, refill: 1, period: 1_000 })
  const both = [
    limited('day', day, { remaining: 400, resetAfterMs: 10_000 }),
    limited('minute', minute, { remaining: 20, resetAfterMs: 40_000 }),
  ]

  it('reports the limit with the least remaining', () => {
    expect(readFields(both, 'draft-7')).toEqual({
      'RateLimit-Policy': '1000;w=86400, 60;w=60',
      RateLimit: 'limit=60, remaining=20, reset=20',
    })
    expect([...parseDictionary('limit=60, remaining=20, reset=20').keys()]).toEqual(['limit', 'remaining', 'reset'])
    expect(readFields([...both].reverse(), 'draft-6')).toEqual({
      'RateLimit-Policy': '60;w=60, 1000;w=86400',
      'RateLimit-Limit': '60',
      'RateLimit-Remaining': '20',
      'RateLimit-Reset': '20',
    })
    expect(readFields(both, 'legacy')).toEqual({
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '20',
      'X-RateLimit-Reset': '1700000021',
    })
  })

  it('reports the limit that refuses longest', () => {
    const short = limited('minute', minute, { ...refused, retryAfterMs: 1_000 })
    const long = limited('day', day, { ...refused, retryAfterMs: 5_000 })
    const open = limited('other', minute, { remaining: 0 })
    for (const limits of [
      [short, long, open],
      [open, long, short],
      [long, open, short],
    ]) {
      expect(readFields(limits, 'draft-6')['RateLimit-Limit']).toBe('1000')
      expect(readFields(limits, 'draft-6')['RateLimit-Reset']).toBe('5')
    }
  })

  it('says when all is free again where no time tells more', () => {
    const places = limited('places', concurrency({ limit: 4, lease: 30_000 }), { remaining: 1, resetAfterMs: 29_500 })
    expect(readFields([places], 'draft-7')).toEqual({
      'RateLimit-Policy': '4',
      RateLimit: 'limit=4, remaining=1, reset=30',
    })
  })
})

describe('listLimits', () => {
  const base = { ...verdict(day), limitedBy: undefined, wouldRefuse: [], decidedBy: 'memory' } as const

  it('finds the only limit, and those tiers that took part and are visible', () => {
    const single = { ...base, tiers: {} } as Decision
    expect(listLimits(single, { api: day })).toEqual([{ name: 'api', rule: day, verdict: single }])
    const tiers = { user: verdict(day, { remaining: 1 }), shadow: verdict(day) }
    expect(listLimits({ ...base, tiers } as Decision, { ip: day, user: day })).toEqual([
      { name: 'user', rule: day, verdict: tiers.user },
    ])
  })

  it('returns nothing for nothing', () => {
    expect(composeHeaderFields([], 'draft-11', NOW_MS)).toEqual([])
    expect(composeHeaderFields([limited('day', day)], false, NOW_MS)).toEqual([])
  })
})

describe('the only limit of a limiter', () => {
  const rules = [
    fixedWindow({ limit: 10, window: 60_000 }),
    fixedWindow({ limit: 10, window: 1_500 }),
    tokenBucket({ capacity: 10, refill: 7, period: 1_000 }),
    slidingLog({ limit: 10, window: 60_000 }),
    concurrency({ limit: 10, lease: 60_000 }),
  ]
  const allowed: TierResult = {
    allowed: true,
    limit: 10,
    remaining: 4,
    retryAfterMs: 0,
    resetAfterMs: 30_000,
    delayMs: 0,
    reason: undefined,
    nextAfterMs: 6_500,
  }
  const verdicts: readonly TierResult[] = [
    allowed,
    { ...allowed, remaining: 1e17, resetAfterMs: 0, nextAfterMs: 0 },
    { ...allowed, nextAfterMs: undefined },
    { ...allowed, allowed: false, remaining: 0, retryAfterMs: 2_001, reason: 'limit' },
    { ...allowed, allowed: false, remaining: 0, retryAfterMs: Number.POSITIVE_INFINITY, reason: 'cost-exceeds-limit' },
  ]

  it('has the same fields as among others', () => {
    for (const rule of rules) {
      const write = createLimitWriter('a "name"', rule)
      for (const verdict of verdicts) {
        const fields = composeHeaderFields([{ name: 'a "name"', rule, verdict }], 'draft-11', 0)
        expect(write(verdict)).toEqual(fields)
      }
    }
  })

  it('has fields of its own for every request', () => {
    const write = createLimitWriter('api', fixedWindow({ limit: 10, window: 60_000 }))
    write(allowed).push({ name: 'Retry-After', value: '1', joins: false })
    expect(write(allowed).map(({ name, value }) => `${name}: ${value}`)).toEqual([
      'RateLimit-Policy: "api";q=10;w=60',
      'RateLimit: "api";r=4;t=30',
    ])
  })
})

it.each<[string | number | string[] | null | undefined, string, boolean, string]>([
  [undefined, 'a', true, 'a'],
  [null, 'a', true, 'a'],
  ['', 'a', true, 'a'],
  ['x', 'a', false, 'a'],
  ['x', 'a, b', true, 'x, a, b'],
  ['a,x', 'a, b', true, 'a,x, b'],
  ['a, b', 'a, b', true, 'a, b'],
  [['x', 'y'], 'a', true, 'x,y, a'],
  ['"a";q=1', '"a";q=1', true, '"a";q=1, "a";q=1'],
])('after %j comes %j, joined: %j', (before, value, joins, result) => {
  const set: unknown[] = []
  setHeaderFields(
    [{ name: 'X', value, joins }],
    () => before,
    (name, text) => set.push([name, text]),
  )
  expect(set).toEqual([['X', result]])
})
