import { describe, expect, it } from 'vitest'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { Limiter } from './limiter.ts'
import type { TiersOptions } from './options.ts'

const user = slidingWindow({ limit: 100, window: 60_000 })
const ip = tokenBucket({ capacity: 50, refill: 10, period: 1_000 })
const global = fixedWindow({ limit: 10_000, window: 1_000 })

function messages(options: Partial<TiersOptions<'user' | 'ip' | 'global'>> = {}): Limiter<'user' | 'ip' | 'global'> {
  const clock = manualClock(60_000)
  return createLimiter({ name: 'messages', tiers: { user, ip, global }, clock, ...options })
}

describe('createLimiter refuses tiers', () => {
  it.each<[unknown, string]>([
    [{}, "tiers must be rules by name such as { user: slidingWindow({ limit: 100, window: '1m' }) }, got an object"],
    [[user], "tiers must be rules by name such as { user: slidingWindow({ limit: 100, window: '1m' }) }, got an array"],
    [null, "tiers must be rules by name such as { user: slidingWindow({ limit: 100, window: '1m' }) }, got null"],
    [{ user: 5 }, "tiers.user must be a rule such as slidingWindow({ limit: 100, window: '1m' }), got 5"],
    [{ user: null }, "tiers.user must be a rule such as slidingWindow({ limit: 100, window: '1m' }), got null"],
    [
      { user: { rule: {} } },
      "tiers.user must be a rule such as slidingWindow({ limit: 100, window: '1m' }), got an object",
    ],
    [
      { user: { rule: user, shade: true } },
      'tiers.user has no option "shade": it takes rule, shadow, blockFor, resolveRule, onStoreFailure, prefetch',
    ],
    [{ user: { rule: user, shadow: 1 } }, 'shadow must be true or false, got 1'],
    [{ user: { rule: user, blockFor: 0 } }, 'blockFor must be from 1 ms to 10 years (3653d), got 0'],
    [{ user: { rule: user, resolveRule: {} } }, 'resolveRule must be a function of the subject, got an object'],
    [
      { name: user },
      'the name of a tier must be a string of 1 to 100 characters other than "kind", "name" and "__proto__", got "name"',
    ],
    [
      JSON.parse('{ "__proto__": {} }'),
      'the name of a tier must be a string of 1 to 100 characters other than "kind", "name" and "__proto__", got "__proto__"',
    ],
  ])('%#', (tiers, message) => {
    expect(() => createLimiter({ name: 'x', tiers } as TiersOptions)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message }),
    )
  })

  it.each<[object, string]>([
    [{ rule: user }, 'createLimiter() takes rule or tiers, got both. Make the rule one of the tiers'],
    [{ hashTag: 'yes' }, 'hashTag must be true or false, got "yes"'],
    [{ shadow: true }, 'shadow belongs inside a tier: write tiers: { user: { rule, shadow } }'],
    [
      { tiers: undefined, rule: user, hashTag: true },
      'hashTag needs tiers: a limiter of one rule has one key per subject. Remove hashTag',
    ],
    [{ idempotencyTtl: 0 }, 'idempotencyTtl must be from 1 ms to 10 years (3653d), got 0'],
    [{ maxQueue: 0 }, 'maxQueue must be a whole number of at least 1, got 0'],
    [
      { ruleCache: 1.5 },
      "ruleCache must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got 1.5",
    ],
    [{ ruleCacheSize: -1 }, 'ruleCacheSize must be a whole number of at least 1, got -1'],
  ])('with %o', (options, message) => {
    expect(() => createLimiter({ name: 'x', tiers: { user }, ...options } as TiersOptions)).toThrow(message)
  })
})

describe('wrong calls over tiers', () => {
  it.each<[string, (limiter: Limiter<'user' | 'ip' | 'global'>) => Promise<unknown>, string, string]>([
    [
      'no key',
      (limiter) => limiter.consume(5 as never),
      'INVALID_KEY',
      'key must be a non-empty string, { kind, name } or keys by tier, got 5',
    ],
    [
      'null',
      (limiter) => limiter.consume(null as never),
      'INVALID_KEY',
      'key must be a non-empty string, { kind, name } or keys by tier, got null',
    ],
    [
      'an unknown tier',
      (limiter) => limiter.consume({ usr: 'a' } as never),
      'INVALID_KEY',
      'unknown tier "usr" in key, did you mean "user"?',
    ],
    [
      'no tier',
      (limiter) => limiter.consume({ user: undefined }),
      'INVALID_KEY',
      'key must name at least one tier of user, ip, global',
    ],
    [
      'a wrong subject',
      (limiter) => limiter.consume({ user: 7 } as never),
      'INVALID_KEY',
      'key must be a non-empty string or { kind, name }, got 7',
    ],
    [
      'an unknown cost',
      (limiter) => limiter.consume('a', { cost: { tokens: 1 } } as never),
      'INVALID_ARGUMENT',
      'unknown tier "tokens" in cost; tiers are user, ip, global',
    ],
    [
      'a wrong cost',
      (limiter) => limiter.consume('a', { cost: { ip: 0 } }),
      'INVALID_ARGUMENT',
      'cost.ip must be a whole number of at least 1, got 0',
    ],
    [
      'a cost of nothing',
      (limiter) => limiter.consume('a', { cost: null } as never),
      'INVALID_ARGUMENT',
      'cost must be a whole number of at least 1, got null',
    ],
    [
      'a wrong cost of an absent tier',
      (limiter) => limiter.consume({ user: 'a' }, { cost: { ip: -1 } }),
      'INVALID_ARGUMENT',
      'cost.ip must be a whole number of at least 1, got -1',
    ],
    [
      'nothing to charge',
      (limiter) => limiter.charge({ user: 'a' }, { ip: 5 }),
      'INVALID_ARGUMENT',
      'amount must name at least one tier of the key',
    ],
    [
      'a wrong id',
      (limiter) => limiter.consume('a', { idempotencyKey: '' }),
      'INVALID_ARGUMENT',
      'idempotencyKey must be a string of 1 to 200 characters, got ""',
    ],
    [
      'no place to take',
      (limiter) => limiter.acquire('a'),
      'INVALID_ARGUMENT',
      'acquire() needs a concurrency() rule; this limiter has none for the given key. Use consume()',
    ],
  ])('%s reject and change nothing', async (_, call, code, message) => {
    const limiter = messages()
    await limiter.consume('a')
    await expect(call(limiter)).rejects.toThrow(expect.objectContaining({ name: 'LimiterError', code, message }))
    expect((await limiter.peek('a')).tiers).toMatchObject({ user: { remaining: 99 }, ip: { remaining: 49 } })
  })
})

it('types know the names of the tiers', async () => {
  const limiter = messages()
  const single = createLimiter({ name: 'x', rule: user })
  const wrong = [
    // @ts-expect-error no such tier
    () => limiter.consume({ usr: 'a' }),
    // @ts-expect-error no such tier
    () => limiter.consume('a', { cost: { tokens: 5 } }),
    // @ts-expect-error a limiter of one rule has no tiers
    () => single.consume({ user: 'a' }),
    // @ts-expect-error a limiter of one rule has one cost
    () => single.consume('a', { cost: { user: 1 } }),
    // @ts-expect-error a decision has the limiter's tiers and no others
    async () => (await limiter.peek('a')).tiers.usr.remaining,
    // @ts-expect-error a rule and tiers exclude each other
    async () => createLimiter({ name: 'x', rule: user, tiers: { user } }),
  ]
  for (const call of wrong) await expect(call()).rejects.toThrow()
})
