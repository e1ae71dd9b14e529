import { beforeEach, describe, expect, it } from 'vitest'
import { clock, limiterWith, remoteStage, rule, store } from '../../../test/remote-stage.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Store } from '../../core/store.ts'
import { findChangedRules } from '../../limiter/compose-decision.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../../rules/sliding-window/sliding-window.ts'

beforeEach(remoteStage)

describe('a store that fails', () => {
  it('is replaced by the same rule in this process', async () => {
    const limiter = limiterWith({ instances: 2 })
    store.behaviour = 'fails'
    const first = await limiter.consume('a', { cost: 3 })
    expect(first).toMatchObject({ allowed: true, decidedBy: 'fallback', limit: 5, remaining: 2 })
    // For the headers, which tell the rule that was decided by.
    expect(findChangedRules(first)?.api?.limit).toBe(5)
    expect(await limiter.consume('a', { cost: 3 })).toMatchObject({
      allowed: false,
      decidedBy: 'fallback',
      reason: 'limit',
      remaining: 2,
    })
  })

  it('lets everything pass where that is the policy', async () => {
    const limiter = limiterWith({ onStoreFailure: 'allow' })
    store.behaviour = 'fails'
    for (let count = 0; count < 30; count++) {
      expect(await limiter.consume('a')).toMatchObject({
        allowed: true,
        decidedBy: 'fallback',
        remaining: 10,
        nextAfterMs: 0,
      })
    }
  })

  it('refuses everything where that is the policy', async () => {
    const limiter = limiterWith({ onStoreFailure: 'refuse' })
    store.behaviour = 'fails'
    expect(await limiter.consume('a')).toEqual({
      allowed: false,
      limit: 10,
      remaining: 0,
      retryAfterMs: 1_000,
      resetAfterMs: 1_000,
      delayMs: 0,
      limitedBy: 'api',
      reason: 'store-unavailable',
      nextAfterMs: undefined,
      wouldRefuse: [],
      decidedBy: 'fallback',
      tiers: {},
    })
  })

  it('rejects where that is the policy', async () => {
    const limiter = limiterWith({ onStoreFailure: 'throw' })
    store.behaviour = 'fails'
    await expect(limiter.consume('a')).rejects.toBe(store.error)
    await expect(limiter.peek('a')).rejects.toBe(store.error)
  })

  it('a mistake in a call is an error under every onStoreFailure', async () => {
    const limiter = limiterWith({ onStoreFailure: 'allow' })
    store.behaviour = 'fails'
    store.error = new LimiterError('UNSAFE_ENGINE', 'not atomic')
    await expect(limiter.consume('a')).rejects.toBe(store.error)
    expect(limiter.health.state).toBe('healthy')
  })

  it('tells listeners what went wrong with each decision', async () => {
    const limiter = limiterWith()
    const errors: unknown[] = []
    limiter.on('storeFailed', ({ error }) => errors.push(error))
    store.behaviour = 'fails'
    await limiter.consume('a')
    await limiter.peek('a')
    expect(errors).toEqual([store.error, store.error])
  })

  it('that throws at once is no different', async () => {
    const { decide } = store
    const failing: Store['decide'] = (...given) => {
      if (store.behaviour === 'fails') throw store.error
      return decide(...given)
    }
    Object.assign(store, { decide: failing })
    const limiter = limiterWith()
    expect((await limiter.consume('a')).decidedBy).toBe('redis')
    store.behaviour = 'fails'
    expect((await limiter.consume('a')).decidedBy).toBe('fallback')
    expect((await limiter.charge('a')).decidedBy).toBe('fallback')
  })
})

describe.each([undefined, null])('a store that fails and says %s', (error) => {
  const outcomes = [
    ['fallback', { allowed: true, limit: 5, remaining: 2, nextAfterMs: expect.any(Number), decidedBy: 'fallback' }],
    ['allow', { allowed: true, remaining: 10, nextAfterMs: 0, decidedBy: 'fallback' }],
    ['refuse', { allowed: false, reason: 'store-unavailable', decidedBy: 'fallback' }],
    ['throw', { code: 'STORE_FAILED', message: 'the store failed without an error' }],
  ] as const
  const asks = [
    ['consume', (limiter: Limiter) => limiter.consume('a', { cost: 3 })],
    ['consume with an id', (limiter: Limiter) => limiter.consume('a', { cost: 3, idempotencyKey: 'x' })],
    ['reserve', async (limiter: Limiter) => (await limiter.reserve('a', { estimate: 3 })).decision],
  ] as const
  const cases = outcomes.flatMap(([policy, outcome]) =>
    asks.map(([name, ask]) => [policy, name, ask, outcome] as const),
  )

  it.each(cases)('is one that fails, by the policy %s: %s', async (onStoreFailure, _, ask, outcome) => {
    const limiter = limiterWith({ onStoreFailure, instances: 2 })
    const told: unknown[] = []
    limiter.on('storeFailed', (event) => told.push(event.error))
    store.behaviour = 'fails'
    store.error = error
    const asked = ask(limiter).catch((thrown: unknown) => thrown)
    await clock.run(500)
    expect(await asked).toMatchObject(outcome)
    expect(told).toMatchObject([{ code: 'STORE_FAILED', message: 'the store failed without an error' }])
  })

  it('is left alone after a while, like any other', async () => {
    const limiter = limiterWith({ onStoreFailure: 'throw' })
    store.behaviour = 'fails'
    store.error = error
    for (let count = 0; count < 5; count++)
      await expect(limiter.consume('a')).rejects.toThrow(/^the store failed without an error$/)
    for (let count = 0; count < 2; count++) {
      await expect(limiter.consume('a')).rejects.toThrow(
        'the store has failed for 0 ms (the store failed without an error). It was not asked, and nothing was counted',
      )
    }
    expect(limiter.health).toMatchObject({
      state: 'degraded',
      error: { message: 'the store failed without an error' },
    })
  })
})

describe('a store that answers', () => {
  it('is asked each time where refusals are not remembered', async () => {
    const limiter = limiterWith({ denialCache: false })
    await limiter.consume('a', { cost: 10 })
    for (let count = 0; count < 3; count++) {
      expect(await limiter.consume('a')).toMatchObject({ allowed: false, decidedBy: 'redis' })
    }
    expect(store.asked).toBe(4)
  })
})

describe('policies of tiers', () => {
  const tiers = {
    user: fixedWindow({ limit: 2, window: 60_000 }),
    site: { rule: slidingWindow({ limit: 100, window: 60_000 }), onStoreFailure: 'allow' },
  } as const

  it('are each their own', async () => {
    const limiter = createLimiter({ name: 'api', tiers, store, clock, instances: 1 })
    store.behaviour = 'fails'
    await limiter.consume('a', { cost: 2 })
    const refused = await limiter.consume('a')
    expect(refused).toMatchObject({ allowed: false, limitedBy: 'user', decidedBy: 'fallback' })
    expect(refused.tiers.site).toMatchObject({ allowed: true, remaining: 100 })
  })

  it('take nothing when one of them refuses', async () => {
    const limiter = createLimiter({
      name: 'api',
      tiers: { ...tiers, money: { rule, onStoreFailure: 'refuse' } },
      store,
      clock,
      instances: 1,
    })
    store.behaviour = 'fails'
    for (let count = 0; count < 3; count++) {
      const refused = await limiter.consume('a')
      expect(refused).toMatchObject({ allowed: false, limitedBy: 'money', reason: 'store-unavailable' })
      expect(refused.tiers.user).toMatchObject({ allowed: true, remaining: 2 })
    }
    expect((await limiter.consume({ user: 'a' })).allowed).toBe(true)
  })

  it('reject when one of those that are asked does', async () => {
    const limiter = createLimiter({
      name: 'api',
      tiers: { ...tiers, money: { rule, onStoreFailure: 'throw' } },
      store,
      clock,
    })
    store.behaviour = 'fails'
    await expect(limiter.consume('a')).rejects.toBe(store.error)
    expect((await limiter.consume({ user: 'a' })).allowed).toBe(true)
  })

  it('in shadow mode refuse no request', async () => {
    const limiter = createLimiter({
      name: 'api',
      tiers: { user: tiers.user, trial: { rule, shadow: true, onStoreFailure: 'refuse' } },
      store,
      clock,
      instances: 1,
    })
    store.behaviour = 'fails'
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, wouldRefuse: ['trial'] })
    expect((await limiter.consume('a')).allowed).toBe(true)
    expect((await limiter.consume('a')).allowed).toBe(false)
  })
})

describe('a cost that only the whole limit could let pass', () => {
  it('is refused until the store is back, and not longer', async () => {
    const limiter = limiterWith({ instances: 5 })
    store.behaviour = 'fails'
    expect(await limiter.consume('a', { cost: 3 })).toMatchObject({
      allowed: false,
      reason: 'store-unavailable',
      retryAfterMs: 1_000,
    })
    expect(await limiter.consume('a', { cost: 11 })).toMatchObject({
      reason: 'cost-exceeds-limit',
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
  })
})

describe('wrong options', () => {
  it.each<[object, string]>([
    [{ timeout: 0 }, 'timeout must be from 1 ms to 10 years (3653d), got 0'],
    [{ instances: 0 }, 'instances must be a whole number from 1 to 1000000, got 0'],
    [{ onStoreFailure: 'open' }, `onStoreFailure must be 'fallback', 'allow', 'refuse' or 'throw', got "open"`],
  ])('%o', (options, message) => {
    expect(() => limiterWith(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message }))
  })

  it('of a tier are refused too', () => {
    const given = { name: 'api', tiers: { user: { rule, onStoreFailure: 'open' as 'allow' } } }
    expect(() => createLimiter(given)).toThrow(`onStoreFailure must be 'fallback', 'allow'`)
  })
})
