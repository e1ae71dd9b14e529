import { describe, expect, it } from 'vitest'
import type { LimitResult } from '../core/decision.ts'
import type { Store } from '../core/store.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { remoteLayers } from '../stores/remote-layers.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { LimiterOptions } from './options.ts'
import type { TieredLimiter } from './tiered-limiter.ts'

const rule = tokenBucket({ capacity: 3, refill: 1, period: 1_000 })

describe('createLimiter', () => {
  it('answers with a whole decision', async () => {
    const limiter = createLimiter({ name: 'api', rule, clock: manualClock(1_000) })
    expect(await limiter.consume('user:42', { cost: 2 })).toEqual({
      allowed: true,
      limit: 3,
      remaining: 1,
      retryAfterMs: 0,
      resetAfterMs: 2_000,
      delayMs: 0,
      limitedBy: undefined,
      reason: undefined,
      nextAfterMs: 1_000,
      wouldRefuse: [],
      decidedBy: 'memory',
      tiers: {},
    })
    expect(await limiter.consume('user:42', { cost: 2 })).toEqual({
      allowed: false,
      limit: 3,
      remaining: 1,
      retryAfterMs: 1_000,
      resetAfterMs: 2_000,
      delayMs: 0,
      limitedBy: 'api',
      reason: 'limit',
      wouldRefuse: [],
      decidedBy: 'memory',
      tiers: {},
    })
  })

  it('needs no store, no clock and no cost', async () => {
    const limiter = createLimiter({ name: 'api', rule: slidingWindow({ limit: 2, window: 315_000_000_000 }) })
    const allowed = [
      await limiter.consume('a'),
      await limiter.consume('a', {}),
      await limiter.consume('a', { cost: undefined as never }),
    ]
    expect(allowed.map((decision) => decision.allowed)).toEqual([true, true, false])
    expect(limiter.name).toBe('api')
    expect(limiter.rules.api?.kind).toBe('sliding-window')
  })

  it('gives limiters without a store a store each', async () => {
    const clock = manualClock()
    const [one, other] = [createLimiter({ name: 'api', rule, clock }), createLimiter({ name: 'api', rule, clock })]
    await one.consume('a')
    expect((await other.peek('a')).remaining).toBe(3)
  })

  it.each<[object | undefined, string]>([
    [undefined, 'createLimiter() takes options such as { name: … }, got undefined'],
    [
      { name: 'a', limit: 5, window: '1m' },
      'createLimiter() has no option "limit": the rule has it, such as slidingWindow({ limit: 100, window: \'1m\' })',
    ],
    [
      { name: 'a', rule, prefix: 'x' },
      'createLimiter() has no option "prefix": it takes name, rule, tiers, store, clock, idempotencyTtl, maxQueue, ruleCache, ruleCacheSize, denialCache, nearLimitAt, prefetch, timeout, onStoreFailure, instances, shadow, blockFor, resolveRule, hashTag',
    ],
    [
      {},
      "createLimiter() needs a name and a rule, or tiers: { name: 'api', rule: slidingWindow({ limit: 100, window: '1m' }) }",
    ],
    [{ rule }, "createLimiter() needs a name, such as name: 'api'"],
    [{ name: '', rule }, 'name must be a string of 1 to 100 characters, got ""'],
    [{ name: 'n'.repeat(101), rule }, `name must be a string of 1 to 100 characters, got "${'n'.repeat(60)}…"`],
    [{ name: 'a' }, "createLimiter() needs a rule or tiers, such as rule: slidingWindow({ limit: 100, window: '1m' })"],
    [
      { name: 'a', rule: { limit: 5 } },
      "rule must be a rule such as slidingWindow({ limit: 100, window: '1m' }), got an object",
    ],
    [
      { name: 'a', rule: slidingWindow },
      "rule must be a rule such as slidingWindow({ limit: 100, window: '1m' }), got a function",
    ],
    [{ name: 'a', rule, store: null }, 'store must be a store such as memoryStore(), got null'],
    [{ name: 'a', rule, store: memoryStore }, 'store must be a store such as memoryStore(), got a function'],
    [
      { name: 'a', rule, store: { ...memoryStore(), name: undefined, isLocal: undefined } },
      'store must have a string name and a boolean isLocal, got name undefined and isLocal undefined',
    ],
    [
      { name: 'a', rule, store: { ...memoryStore(), isLocal: false } },
      'store.layers must be remoteLayers when isLocal is false, got undefined',
    ],
    [{ name: 'a', rule, clock: Date }, 'clock must be an object with nowMs(), got a function'],
    [{ name: 'a', rule, clock: 5 }, 'clock must be an object with nowMs(), got 5'],
  ])('refuses wrong options: %#', (options, message) => {
    expect(() => createLimiter(options as LimiterOptions)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message }),
    )
  })
})

it('a local store may answer later all the same', async () => {
  const memory = memoryStore()
  const store: Store = {
    ...memory,
    decide(call, reply) {
      setImmediate(() => reply.done(memory.decide(call, reply) as readonly LimitResult[]))
      return undefined
    },
  }
  const limiter = createLimiter({ name: 'later', rule, store })
  expect(await limiter.consume('a')).toMatchObject({ allowed: true, decidedBy: 'memory' })
})

describe("a local store of one's own", () => {
  it('gives decisions its name, and nothing remembers its refusals', async () => {
    const store = { ...memoryStore(), name: 'mine' }
    const limiter = createLimiter({ name: 'own', rule: fixedWindow({ limit: 1, window: 60_000 }), store })
    await limiter.consume('a')
    const answers = [await limiter.consume('a'), await limiter.consume('a')]
    expect(answers.map(({ allowed, decidedBy }) => [allowed, decidedBy])).toEqual([
      [false, 'mine'],
      [false, 'mine'],
    ])
  })

  it('has no fallback: what it throws reaches the caller', async () => {
    const error = new Error('disk full')
    const decide = (): never => {
      throw error
    }
    const limiter = createLimiter({ name: 'own', rule, store: { ...memoryStore(), name: 'mine', decide } })
    await expect(limiter.consume('a')).rejects.toBe(error)
  })
})

it('a store elsewhere that is named as a layer is reported in full', async () => {
  const store = { ...memoryStore(), name: 'denial-cache', isLocal: false, layers: remoteLayers }
  const limiter = createLimiter({ name: 'own', tiers: { a: rule, b: rule }, store })
  expect(Object.keys((await limiter.consume('x')).tiers)).toEqual(['a', 'b'])
})

describe('a consume that is parsed before it is run', () => {
  const open = (store: Store = memoryStore()) => createLimiter({ name: 'parsed', rule, store }) as TieredLimiter

  it('counts when it runs, and not before', async () => {
    const limiter = open()
    const calls = [limiter.parse('a', 2, undefined), limiter.parse('a', 2, undefined)]
    expect(await limiter.peek('a')).toMatchObject({ remaining: 3 })
    const decisions = await Promise.all(calls.map((call) => limiter.run(call, 'a', 2)))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false])
  })
})

describe('wrong calls', () => {
  it.each<[string, (limiter: ReturnType<typeof createLimiter>) => Promise<unknown>, string, string]>([
    [
      'no key',
      (limiter) => limiter.consume(undefined as never),
      'INVALID_KEY',
      'key must be a non-empty string or { kind, name }, got undefined',
    ],
    [
      'a number as key',
      (limiter) => limiter.peek(7 as never),
      'INVALID_KEY',
      'key must be a non-empty string or { kind, name }, got 7',
    ],
    ...(['consume', 'peek', 'charge', 'refund', 'reset', 'unblock', 'wait', 'acquire'] as const).map(
      (name): [string, (limiter: ReturnType<typeof createLimiter>) => Promise<unknown>, string, string] => [
        `an empty key of ${name}()`,
        (limiter) => limiter[name](''),
        'INVALID_KEY',
        'key must be a non-empty string or { kind, name }, got ""',
      ],
    ),
    [
      'cost 0',
      (limiter) => limiter.consume('a', { cost: 0 }),
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got 0',
    ],
    [
      'a negative cost',
      (limiter) => limiter.consume('a', { cost: -5 }),
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got -5',
    ],
    [
      'a negative peek',
      (limiter) => limiter.peek('a', { cost: -1 }),
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 0, got -1',
    ],
    [
      'a misspelt option',
      (limiter) => limiter.consume('a', { costs: 2 } as never),
      'INVALID_ARGUMENT',
      'consume() has no option "costs", did you mean "cost"?',
    ],
    [
      'a bare cost',
      (limiter) => limiter.consume('a', 2 as never),
      'INVALID_ARGUMENT',
      'consume() takes options such as { cost: … }, got 2',
    ],
    [
      'a fraction to charge',
      (limiter) => limiter.charge('a', 0.5),
      'INVALID_ARGUMENT',
      'amount must be a whole number of at least 1, got 0.5',
    ],
    [
      'nothing to give back',
      (limiter) => limiter.refund('a', 0),
      'INVALID_ARGUMENT',
      'amount must be a whole number of at least 1, got 0',
    ],
    [
      'a block without end',
      (limiter) => limiter.block('a', Infinity),
      'INVALID_ARGUMENT',
      "blockFor must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got Infinity",
    ],
    [
      'a block without time',
      (limiter) => limiter.block('a', undefined as never),
      'INVALID_ARGUMENT',
      "blockFor must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got undefined",
    ],
    [
      'a key that is no key',
      (limiter) => limiter.reset(null as never),
      'INVALID_KEY',
      'key must be a non-empty string or { kind, name }, got null',
    ],
  ])('%s rejects and changes nothing', async (_, call, code, message) => {
    const store = memoryStore()
    const limiter = createLimiter({ name: 'api', rule, store, clock: manualClock() })
    await limiter.consume('a')
    await expect(call(limiter)).rejects.toThrow(expect.objectContaining({ name: 'LimiterError', code, message }))
    expect(await limiter.peek('a')).toMatchObject({ remaining: 2, resetAfterMs: 1_000 })
    expect(store.stats().keys).toBe(1)
  })

  it('a clock that says nonsense rejects, and the limiter goes on when it is mended', async () => {
    let nowMs = Number.NaN
    const limiter = createLimiter({ name: 'api', rule, clock: { nowMs: () => nowMs } })
    await expect(limiter.consume('a')).rejects.toThrow(
      'clock.nowMs() must return whole milliseconds of at least 0, got NaN',
    )
    nowMs = 5
    expect((await limiter.consume('a')).remaining).toBe(2)
  })
})
