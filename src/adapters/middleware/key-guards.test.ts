import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { concurrency, fixedWindow } from '../../rules/index.ts'
import { byIp } from './keys.ts'
import { createMiddleware } from './middleware.ts'
import type { MiddlewareOptions } from './options.ts'
import type { RequestAccessor } from './request-accessor.ts'

const accessor: RequestAccessor<object> = {
  method: () => 'GET',
  header: () => undefined,
  clientAddress: () => '203.0.113.7',
}
const rule = fixedWindow({ limit: 5, window: '1d' })
const createTiers = () => createLimiter({ name: 'api', tiers: { user: rule, ip: rule } })
const createSingle = () => createLimiter({ name: 'api', rule })

function setUp(options: object) {
  const warnings: string[] = []
  // These tests make many limiters of one name.
  const onWarning = (message: string, code: string) =>
    code === 'LIMITER_IN_HANDLER' || warnings.push(`${code}: ${message}`)
  const middleware = createMiddleware<object, string>(
    'rateLimit()',
    { onWarning, ...options } as unknown as MiddlewareOptions<object, string>,
    accessor,
  )
  return { warnings, ask: async () => middleware({}) }
}

afterEach(() => vi.restoreAllMocks())

describe('a limiter of tiers', () => {
  const written = 'Write key: { user: …, ip: … } with a function for each tier, or key: byIp() if that is meant'
  const message = `key is missing for the tiers user, ip of the limiter "api": they would all count by address. ${written}`

  it('needs a key for its tiers when the middleware is made', () => {
    expect(() => setUp({ limiter: createTiers() })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message }),
    )
    expect(() => setUp({ limiter: createTiers(), key: undefined })).toThrow(message)
  })

  it('counts all tiers by one key where the application says so', async () => {
    const limiter = createTiers()
    await setUp({ limiter, key: byIp() }).ask()
    expect((await limiter.peek({ kind: 'ip', name: '203.0.113.7' })).tiers).toMatchObject({
      user: { remaining: 4 },
      ip: { remaining: 4 },
    })
    const alone = createLimiter({ name: 'alone', tiers: { ip: rule } })
    expect((await setUp({ limiter: alone }).ask()).decision?.remaining).toBe(4)
  })

  it('is warned of once where a function picks it', async () => {
    const limiter = createTiers()
    const { ask, warnings } = setUp({ limiter: () => limiter })
    expect((await ask()).decision?.remaining).toBe(4)
    expect((await ask()).decision?.remaining).toBe(3)
    expect(warnings).toEqual([`TIERS_SHARE_KEY: ${message}`])
  })

  it('has no tier of a misspelt name', () => {
    const limiter = createTiers()
    const unknown = (name: string, end: string) =>
      expect(() => setUp({ limiter, key: { [name]: byIp() } })).toThrow(
        expect.objectContaining({ code: 'INVALID_OPTION', message: `unknown tier "${name}" in key${end}` }),
      )
    unknown('usr', ', did you mean "user"?')
    unknown('tenant', '; tiers are user, ip')
  })
})

it('a limiter of one rule takes no keys by tier', () => {
  expect(() => setUp({ limiter: createSingle(), key: { user: byIp() } })).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      message: 'key must be a function of the request: the limiter "api" has no tiers, got an object',
    }),
  )
})

describe('a key that is a whole number', () => {
  it.each<[string, unknown, string]>([
    ['a number', 42, '42'],
    ['0', 0, '0'],
    ['a bigint', 9_007_199_254_740_993n, '9007199254740993'],
  ])('counts as its text: %s', async (_, id, name) => {
    for (const key of [() => id, async () => id]) {
      const limiter = createSingle()
      const { ask, warnings } = setUp({ limiter, key })
      expect((await ask()).decision?.remaining).toBe(4)
      expect((await limiter.peek(name)).remaining).toBe(4)
      expect(warnings).toEqual([])
    }
  })

  it('counts as its text in a tier', async () => {
    for (const key of [{ user: () => 42, ip: () => 'x' }, () => ({ user: 42, ip: 'x' })]) {
      const limiter = createTiers()
      const { ask, warnings } = setUp({ limiter, key })
      await ask()
      expect((await limiter.peek({ user: '42' })).remaining).toBe(4)
      expect((await limiter.peek({ ip: 'x' })).remaining).toBe(4)
      expect(warnings).toEqual([])
    }
  })
})

describe('a key that cannot be used', () => {
  const oneOf = 'key must be a non-empty string or { kind, name }'
  const wrong: [unknown, string][] = [
    ['', `${oneOf}, got ""`],
    [Number.NaN, `${oneOf}, got NaN`],
    [1.5, `${oneOf}, got 1.5`],
    [2 ** 53, `${oneOf}, got 9007199254740992`],
    [true, `${oneOf}, got true`],
    [{ id: 42 }, `${oneOf}, got an object`],
    [{ kind: 'user', name: '' }, 'name of a key must be a non-empty string, got ""'],
  ]
  const compose = (reason: string) => `UNUSABLE_KEY: the limiter "api" cannot use what key returned: ${reason}`

  it.each(wrong)('gets 403 without a choice, and one warning: %o', async (id, reason) => {
    for (const key of [() => id, async () => id]) {
      const { ask, warnings } = setUp({ limiter: createSingle(), key })
      for (const _ of [1, 2]) {
        const { refusal, decision, headers } = await ask()
        expect([refusal?.status, decision, headers]).toEqual([403, undefined, []])
      }
      expect(warnings).toEqual([compose(reason)])
    }
  })

  it('names the nearest tier where a function returns a misspelt one', async () => {
    const { ask, warnings } = setUp({ limiter: createTiers(), key: () => ({ usr: 'ann', ip: 'x' }) })
    for (const _ of [1, 2]) expect((await ask()).refusal?.status).toBe(403)
    expect(warnings).toEqual([compose('unknown tier "usr" in key, did you mean "user"?')])
  })

  it('counts as onMissingKey says', async () => {
    const limiter = createSingle()
    const key = () => Number.NaN
    const skip = setUp({ limiter, key, onMissingKey: 'skip' })
    expect(await skip.ask()).toMatchObject({ decision: undefined, refusal: undefined })
    const refuse = setUp({ limiter, key, onMissingKey: 'refuse' })
    expect((await refuse.ask()).refusal?.status).toBe(403)
    const share = setUp({ limiter, key, onMissingKey: { shared: 'all' } })
    expect((await share.ask()).decision?.remaining).toBe(4)
    expect((await share.ask()).decision?.remaining).toBe(3)
    for (const { warnings } of [skip, refuse, share]) expect(warnings).toHaveLength(1)
  })

  it('is the same wherever it is used: permits, outcomes, looks, a consume() that was replaced', async () => {
    const single = createSingle()
    const replaced = new Proxy(single, {
      get: (target, name) =>
        name === 'consume' ? (key: string) => target.consume(key) : Reflect.get(target, name, target),
    })
    const permits = createLimiter({ name: 'api', rule: concurrency({ limit: 5, lease: '1m' }) })
    const ways = [
      { limiter: permits },
      { limiter: single, count: 'failed' },
      { limiter: single, count: false },
      { limiter: replaced },
      { limiter: () => single },
    ]
    for (const way of ways) {
      const { ask, warnings } = setUp({ ...way, key: () => '' })
      expect((await ask()).refusal?.status).toBe(403)
      expect(warnings).toEqual([compose(`${oneOf}, got ""`)])
    }
  })

  it('hides no other error', async () => {
    const limiter = createSingle()
    await limiter.close()
    for (const way of [{}, { skip: () => false }]) {
      await expect(setUp({ limiter, key: () => 'a', ...way }).ask()).rejects.toThrow('the limiter "api" is closed')
    }
  })
})
