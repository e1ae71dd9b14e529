import { parseList } from 'structured-headers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { failingStore } from '../../../test/failing-store.ts'
import { partitionKey } from '../../http/partition-key.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { concurrency, fixedWindow, leakyBucket } from '../../rules/index.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { createMiddleware } from './middleware.ts'
import type { RequestAccessor } from './request-accessor.ts'

const accessor: RequestAccessor<object> = {
  method: () => 'GET',
  header: () => undefined,
  clientAddress: () => '203.0.113.7',
}
const day = { window: 86_400_000 }
const key = (): string => 'user:42'
const told = (fields: readonly { name: string; value: string }[]) =>
  Object.fromEntries(fields.map(({ name, value }) => [name, value]))

afterEach(() => vi.restoreAllMocks())

describe('middleware', () => {
  it('reports units and whose quota it is, without telling who', async () => {
    const limiter = createLimiter({
      name: 'chat',
      tiers: { requests: fixedWindow({ limit: 5, ...day }), tokens: fixedWindow({ limit: 1_000, ...day }) },
    })
    const secret = 'a secret of some length'
    const keys = { requests: () => ({ kind: 'user', name: 'ann' }), tokens: () => 'acme' }
    const middleware = createMiddleware(
      'x',
      { limiter, key: keys, unit: { tokens: 'tokens' }, partitionSecret: secret },
      accessor,
    )
    const headers = told((await middleware({})).headers)
    const own = partitionKey({ kind: 'user', name: 'ann' }, secret)
    expect(headers['RateLimit-Policy']).toBe(
      `"requests";q=5;w=86400;pk=:${own}:, "tokens";q=1000;w=86400;qu="tokens";pk=:${partitionKey('acme', secret)}:`,
    )
    expect(parseList(headers.RateLimit as string)).toHaveLength(2)
    const one = createLimiter({ name: 'one', rule: fixedWindow({ limit: 5, ...day }) })
    const single = createMiddleware(
      'x',
      { limiter: one, key: () => 'acme', unit: 'euros', partitionSecret: secret },
      accessor,
    )
    expect(told((await single({})).headers)['RateLimit-Policy']).toBe(
      `"one";q=5;w=86400;qu="euros";pk=:${partitionKey('acme', secret)}:`,
    )
  })

  it('reports the numbers that a policy gave, window and all', async () => {
    const plans = createLimiter({
      name: 'plans',
      rule: fixedWindow({ limit: 5, ...day }),
      resolveRule: async (subject) => (subject === 'paid' ? fixedWindow({ limit: 50, window: 3_600_000 }) : undefined),
    })
    let who = 'paid'
    const middleware = createMiddleware('x', { limiter: plans, key: () => who }, accessor)
    expect(told((await middleware({})).headers)['RateLimit-Policy']).toBe('"plans";q=50;w=3600')
    who = 'free'
    expect(told((await middleware({})).headers)['RateLimit-Policy']).toBe('"plans";q=5;w=86400')
    const tiers = createLimiter({
      name: 'tiers',
      tiers: {
        user: { rule: fixedWindow({ limit: 5, ...day }), resolveRule: async () => fixedWindow({ limit: 6, ...day }) },
        ip: fixedWindow({ limit: 7, ...day }),
      },
    })
    const both = createMiddleware('x', { limiter: tiers, key }, accessor)
    expect(told((await both({})).headers)['RateLimit-Policy']).toBe('"user";q=6;w=86400, "ip";q=7;w=86400')
  })

  it('sets headers of a draft and of the old style together', async () => {
    const limiter = createLimiter({ name: 'both', rule: fixedWindow({ limit: 5, ...day }) })
    const origin = { ...accessor, header: (_: object, name: string) => (name === 'origin' ? 'https://a' : undefined) }
    const middleware = createMiddleware('x', { limiter, key, headers: ['draft-6', 'legacy'] }, origin)
    const { headers } = await middleware({})
    const names = ['Policy', 'Limit', 'Remaining', 'Reset'].map((name) => `RateLimit-${name}`)
    const all = [...names, ...names.slice(1).map((name) => `X-${name}`)]
    expect(headers.map(({ name }) => name)).toEqual([...all, 'Access-Control-Expose-Headers'])
    expect(told(headers)).toMatchObject({
      'RateLimit-Policy': '5;w=86400',
      'RateLimit-Remaining': '4',
      'X-RateLimit-Remaining': '4',
      'Access-Control-Expose-Headers': all.join(', '),
    })
    const newest = createMiddleware('x', { limiter, key, headers: ['legacy', 'draft-11'] }, accessor)
    const fields = told((await newest({})).headers)
    expect([fields.RateLimit, fields['X-RateLimit-Remaining']]).toEqual([expect.stringMatching(/^"both";r=3;/), '3'])
    const none = createMiddleware('x', { limiter, key, headers: [] }, accessor)
    expect((await none({})).headers).toEqual([])
  })

  it('looks without counting, and answers as if it counted', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const limiter = createLimiter({ name: 'look', rule: fixedWindow({ limit: 2, ...day }) })
    const look = createMiddleware('x', { limiter, key, count: false }, accessor)
    const dear = createMiddleware('x', { limiter, key, count: false, cost: () => 2 }, accessor)
    const take = createMiddleware('x', { limiter, key }, accessor)
    for (const _ of [1, 2, 3]) {
      const { decision, refusal, headers } = await look({})
      expect([decision?.remaining, refusal]).toEqual([2, undefined])
      expect(told(headers).RateLimit).toMatch(/^"look";r=2/)
    }
    const request = {}
    await look(request)
    await take(request)
    expect((await dear({})).refusal?.status).toBe(429)
    await take({})
    const { refusal, headers } = await look({})
    expect([refusal?.status, told(headers)['Retry-After']]).toEqual([429, expect.stringMatching(/^\d+$/)])
    expect(warn).not.toHaveBeenCalled()
  })

  it('looks at permits and at turns without taking one, and without a wait', async () => {
    const permits = createLimiter({ name: 'permits', rule: concurrency({ limit: 1, lease: 60_000 }) })
    const options = { limiter: permits, key }
    const look = createMiddleware('x', { ...options, count: false }, accessor)
    expect((await look({})).finish).toBeUndefined()
    const taken = await createMiddleware('x', options, accessor)({})
    expect((await look({})).refusal?.status).toBe(429)
    await taken.finish?.(200)
    expect((await look({})).refusal).toBeUndefined()
    const shaped = leakyBucket({ capacity: 9, leak: 1, period: 60_000, mode: 'shape', maxWait: 600_000 })
    const turns = createLimiter({ name: 'turns', rule: shaped })
    await turns.consume('user:42')
    const { decision } = await createMiddleware('x', { limiter: turns, key, count: false }, accessor)({})
    expect(decision?.delayMs).toBeGreaterThan(0)
  })

  it('does not tell clients of limits that only watch', async () => {
    const rule = fixedWindow({ limit: 1, ...day })
    const tiers = createLimiter({ name: 'tiers', tiers: { open: rule, watched: { rule, shadow: true } } })
    const middleware = createMiddleware(
      'x',
      { limiter: tiers, key: { open: (request) => `${Math.random()}${request}`, watched: key } },
      accessor,
    )
    for (const _ of [1, 2]) {
      const { refusal, headers } = await middleware({})
      expect([refusal, told(headers)['RateLimit-Policy']]).toEqual([undefined, '"open";q=1;w=86400'])
    }
    const only = createLimiter({ name: 'only', rule, shadow: true })
    const silent = createMiddleware('x', { limiter: only, key }, accessor)
    await silent({})
    const { refusal, headers, decision } = await silent({})
    expect([refusal, headers, decision?.wouldRefuse]).toEqual([undefined, [], ['only']])
  })

  it('names every limit that refuses, and none in shadow mode', async () => {
    const rule = fixedWindow({ limit: 1, ...day })
    const limiter = createLimiter({ name: 'all', tiers: { one: rule, two: rule, watched: { rule, shadow: true } } })
    const middleware = createMiddleware('x', { limiter, key }, accessor)
    await middleware({})
    expect((await middleware({})).refusal?.problem['violated-policies']).toEqual(['one', 'two'])
  })

  it('holds permits of some tiers and counts others, at their costs', async () => {
    const limiter = createLimiter({
      name: 'work',
      tiers: { places: concurrency({ limit: 2, lease: 60_000 }), day: fixedWindow({ limit: 10, ...day }) },
    })
    const middleware = createMiddleware('x', { limiter, key, cost: async () => ({ day: 4 }) }, accessor)
    const result = await middleware({})
    expect((await limiter.peek('user:42')).tiers).toMatchObject({ places: { remaining: 1 }, day: { remaining: 6 } })
    await result.finish?.(200)
    expect((await limiter.peek('user:42')).tiers).toMatchObject({ places: { remaining: 2 }, day: { remaining: 6 } })
  })

  it('asks for no cost where there is no key, and for nothing where there is no limiter', async () => {
    const limiter = createLimiter({ name: 'open', rule: fixedWindow({ limit: 5, ...day }) })
    const withoutKey = { key: () => undefined, cost: () => expect.unreachable() }
    const refusing = createMiddleware('x', { limiter, ...withoutKey, onMissingKey: 'refuse' }, accessor)
    expect((await refusing({})).refusal?.status).toBe(403)
    const skipping = createMiddleware('x', { limiter, ...withoutKey, onMissingKey: 'skip' }, accessor)
    expect((await skipping({})).decision).toBeUndefined()
    const failing = createMiddleware('x', { limiter, ...withoutKey }, accessor)
    await expect(failing({})).rejects.toThrow(
      "a request has no key for the limiter \"open\". Set onMissingKey: 'refuse', 'skip' or { shared: 'a name' }",
    )
    const sharing = createMiddleware(
      'x',
      { limiter, key: () => undefined, cost: () => 2, onMissingKey: { shared: 'all' } },
      accessor,
    )
    expect((await sharing({})).decision?.remaining).toBe(3)
    const unlimited = createMiddleware('x', { limiter: () => undefined, ...withoutKey }, accessor)
    expect((await unlimited({})).decision).toBeUndefined()
  })

  it('counts work that took longer than its reservation once', async () => {
    const clock = manualClock(0)
    const limiter = createLimiter({ name: 'slow', rule: fixedWindow({ limit: 10, ...day }), clock })
    const middleware = createMiddleware('x', { limiter, key, cost: 3, count: 'failed', expiresIn: 1_000 }, accessor)
    const result = await middleware({})
    clock.advance(2_000)
    expect((await limiter.peek('user:42')).remaining).toBe(10)
    await result.finish?.(500)
    expect((await limiter.peek('user:42')).remaining).toBe(7)
    const unanswered = await middleware({})
    await unanswered.finish?.(undefined)
    expect((await limiter.peek('user:42')).remaining).toBe(4)
  })

  it('reports a refund that failed, and throws nothing', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const store = failingStore()
    const limiter = createLimiter({ name: 'frail', rule: fixedWindow({ limit: 10, ...day }), store })
    const middleware = createMiddleware('x', { limiter, key, count: 'failed' }, accessor)
    const results = [await middleware({}), await middleware({})]
    store.fails = true
    for (const { finish } of results) await finish?.(200)
    expect(warn.mock.calls).toEqual([
      ['sluice: a request was neither counted nor refunded: Error: gone (npx sluice explain NOT_SETTLED)'],
    ])
  })

  it('answers at once where nothing has to be awaited, and throws or rejects what goes wrong', async () => {
    const limiter = createLimiter({ name: 'at once', rule: fixedWindow({ limit: 9, ...day }) })
    const broken = (): never => {
      throw new Error('broken')
    }
    const atOnce = createMiddleware('x', { limiter, key }, accessor)
    expect(atOnce({})).toMatchObject({ decision: { remaining: 8 } })
    for (const awaited of [{ key: async () => 'user:42' }, { key, skip: () => false }]) {
      const result = createMiddleware('x', { limiter, ...awaited }, accessor)({})
      expect(result).toBeInstanceOf(Promise)
      expect(await result).toMatchObject({ decision: { allowed: true } })
    }
    const shaped = leakyBucket({ capacity: 9, leak: 1, period: 10, mode: 'shape', maxWait: 1_000 })
    const delayed = createMiddleware('x', { limiter: createLimiter({ name: 'late', rule: shaped }), key }, accessor)
    expect(delayed({})).not.toBeInstanceOf(Promise)
    expect(delayed({})).toBeInstanceOf(Promise)
    expect(() => createMiddleware('x', { limiter, key: broken }, accessor)({})).toThrow('broken')
    const rejecting = createMiddleware('x', { limiter, key, skip: broken }, accessor)({})
    await expect(rejecting).rejects.toThrow('broken')
    const twice = createMiddleware('x', { limiter, key, onWarning: broken }, accessor)
    const request = {}
    await twice(request)
    expect(() => twice(request)).toThrow('broken')
    await limiter.close()
    expect(() => twice({})).toThrow('the limiter "at once" is closed')
  })

  it('asks a limiter by its consume() where that is not its own', async () => {
    const limiter = createLimiter({ name: 'replaced', rule: fixedWindow({ limit: 9, ...day }) })
    const asked: unknown[] = []
    const watched = new Proxy(limiter, {
      get(target, name) {
        if (name !== 'consume') return Reflect.get(target, name, target)
        return (...call: Parameters<typeof limiter.consume>) => {
          asked.push(call[0])
          return target.consume(...call)
        }
      },
    })
    const result = createMiddleware('x', { limiter: watched, key }, accessor)({})
    expect(result).toBeInstanceOf(Promise)
    expect(await result).toMatchObject({ decision: { remaining: 8 } })
    expect(asked).toEqual(['user:42'])
  })

  it('warns of limiters that live for one request, and remembers a bounded number of names', async () => {
    const warnings: string[] = []
    const rule = fixedWindow({ limit: 10, ...day })
    const limiter = (request: object) => createLimiter({ name: `${request}`, rule })
    const ask = async (name: string) => {
      const onWarning = (message: string) => warnings.push(message)
      await createMiddleware('x', { limiter, key, onWarning }, accessor)(new String(name))
    }
    for (const _ of [1, 2]) await ask('tenant')
    for (let index = 0; index < 1_000; index++) await ask(`tenant ${index}`)
    await ask('tenant')
    expect(warnings).toEqual([])
    for (const _ of [1, 2, 3, 4]) await ask('tenant')
    expect(warnings).toEqual([
      '3 limiters named "tenant" decided one request each. Create the limiter once, outside the handler, or it never rejects',
    ])
  })

  it('looks at a preflight and waits for its turn also where something has to be awaited first', async () => {
    const preflight: RequestAccessor<object> = {
      ...accessor,
      method: () => 'OPTIONS',
      header: (_, name) => (name === 'access-control-request-method' ? 'POST' : undefined),
    }
    const rule = leakyBucket({ capacity: 2, leak: 1, period: 5, mode: 'shape' })
    const limiter = createLimiter({ name: 'shaped', rule })
    const options = { limiter, key: async () => 'user:42', skip: async () => false }
    expect((await createMiddleware('x', options, preflight)({})).decision).toBeUndefined()
    const middleware = createMiddleware('x', options, accessor)
    await middleware({})
    const startedMs = performance.now()
    const { decision } = await middleware({})
    expect(decision?.delayMs).toBeGreaterThan(0)
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(Number(decision?.delayMs) - 1)
  })
})
