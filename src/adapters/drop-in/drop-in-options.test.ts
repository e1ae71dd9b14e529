import { describe, expect, it } from 'vitest'
import { LimiterError } from '../../core/limiter-error.ts'
import { concurrency, fixedWindow, slidingWindow } from '../../rules/index.ts'
import { expressRateLimitStore } from '../express-rate-limit/express-rate-limit-store.ts'
import { fastifyRateLimitStore } from '../fastify-rate-limit/fastify-rate-limit-store.ts'
import { honoRateLimiterStore } from '../hono-rate-limiter/hono-rate-limiter-store.ts'
import { throttlerStorage } from '../nestjs-throttler/throttler-storage.ts'
import { createRule, type DropInOptions, parseDropInOptions } from './drop-in-options.ts'

describe.each([
  ['throttlerStorage()', throttlerStorage],
  ['expressRateLimitStore()', expressRateLimitStore],
  ['fastifyRateLimitStore()', fastifyRateLimitStore],
  ['honoRateLimiterStore()', honoRateLimiterStore],
])('%s', (what, make) => {
  it.each<[unknown, string]>([
    [
      { redis: 1 },
      `${what} has no option "redis": it takes store, rule, name, clock, denialCache, timeout, onStoreFailure, instances`,
    ],
    [null, `${what} takes options such as { store: … }, got null`],
    [{ store: {} }, 'store must be a store such as redisStore(redis), got an object'],
    [{ clock: 5 }, 'clock must be an object with nowMs(), got 5'],
    [{ rule: fixedWindow({ limit: 1, window: 1 }) }, 'rule must be a function of limit and windowMs, got an object'],
    [{ denialCache: -1 }, 'denialCache must be from 1 ms to 10 years (3653d), got -1'],
    [{ name: '' }, 'name must be a string of 1 to 60 characters without a slash, got ""'],
    [{ name: 'a/b' }, 'name must be a string of 1 to 60 characters without a slash, got "a/b"'],
    [{ name: 'n'.repeat(61) }, `name must be a string of 1 to 60 characters without a slash, got "${'n'.repeat(60)}…"`],
  ])('tells at once what is wrong with %o', (options, message) => {
    expect(() => make(options as DropInOptions)).toThrow(new LimiterError('INVALID_OPTION', message))
  })

  it('takes undefined for absent', () => {
    const absent = { store: undefined, rule: undefined, name: undefined, clock: undefined }
    expect(() => make(absent as unknown as DropInOptions)).not.toThrow()
  })
})

describe('the rule', () => {
  it.each<[string, unknown, string]>([
    [
      'of another limit',
      () => slidingWindow({ limit: 50, window: 1_000 }),
      'rule must return a rule of the limit that it is given, 100, got one of 50',
    ],
    [
      'that is none',
      () => 100,
      'rule must be a function that returns a rule such as slidingWindow({ limit, window: windowMs }), got 100',
    ],
    [
      'for places',
      (limit: number) => concurrency({ limit, lease: 1_000 }),
      'rule must return a rule that counts requests, got "concurrency", which waits for their end',
    ],
  ])('%s is not taken', (_, rule, message) => {
    const settings = parseDropInOptions('x()', 'x', { rule } as DropInOptions)
    expect(() => createRule(settings, 100, 1_000)).toThrow(new LimiterError('INVALID_OPTION', message))
  })

  it('is a window that opens with the first hit by default', () => {
    const { kind, parameters } = createRule(parseDropInOptions('x()', 'x', {}), 100, 1_000)
    expect([kind, parameters]).toMatchObject(['fixed-window', { limit: 100, windowMs: 1_000, anchor: 'first-hit' }])
  })
})
