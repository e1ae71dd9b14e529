import { describe, expect, it, vi } from 'vitest'
import type { Subject } from '../core/key.ts'
import type { Rule } from '../core/rule.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const perMinute = (limit: number): Rule => slidingWindow({ limit, window: 60_000 })

describe('a limiter with a policy', () => {
  it('asks it for each subject, once in ruleCache, and uses the default where it has none', async () => {
    const clock = manualClock(60_000)
    const plans: Record<string, number> = { luis: 100 }
    const policy = vi.fn(async (subject: Subject) => {
      const limit = plans[subject as string]
      return limit === undefined ? undefined : perMinute(limit)
    })
    const limiter = createLimiter({ name: 'api', rule: perMinute(5), resolveRule: policy, clock, ruleCache: 1_000 })
    expect((await limiter.consume('luis')).limit).toBe(100)
    expect(await limiter.consume('ana')).toMatchObject({ limit: 5, remaining: 4 })
    plans.luis = 200
    expect((await limiter.consume('luis')).limit).toBe(100)
    expect(policy).toHaveBeenCalledTimes(2)
    clock.advance(1_000)
    expect(await limiter.consume('luis')).toMatchObject({ limit: 200, remaining: 195 })
  })

  it('forgetRules forgets the rules of one subject or of all', async () => {
    let limit = 10
    const limiter = createLimiter({
      name: 'api',
      rule: perMinute(5),
      resolveRule: () => perMinute(limit),
      clock: manualClock(),
    })
    const limits = async () => [(await limiter.peek('a')).limit, (await limiter.peek('b')).limit]
    expect(await limits()).toEqual([10, 10])
    limit = 20
    limiter.forgetRules('a')
    expect(await limits()).toEqual([20, 10])
    limiter.forgetRules()
    expect(await limits()).toEqual([20, 20])
    createLimiter({ name: 'api', rule: perMinute(5) }).forgetRules('a')
  })

  it('logs its first failure once where the application does not listen', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const clock = manualClock()
    const failing = (name: string, resolveRule: () => Rule | Promise<Rule>) =>
      createLimiter({ name, rule: perMinute(5), resolveRule, clock, ruleCache: 1_000 })
    const rejecting = failing('api', () => Promise.reject(new Error('no database')))
    const throwing = failing('chat', () => {
      throw 'no plan'
    })
    const heard = failing('heard', () => Promise.reject(new Error('no database')))
    heard.on('resolveRuleFailed', () => {})
    for (const _ of [1, 2]) {
      for (const limiter of [rejecting, throwing, heard]) {
        for (const subject of ['luis', 'ana']) expect((await limiter.consume(subject)).limit).toBe(5)
      }
      clock.advance(1_000)
    }
    const then = 'Each subject keeps its last rule, or the default. Listen to resolveRuleFailed for every failure'
    const compose = (name: string, why: string) =>
      `sluice: resolveRule of the limiter "${name}" failed: ${why}. ${then} (npx sluice explain RESOLVE_RULE_FAILED)`
    expect(warn.mock.calls).toEqual([[compose('api', 'no database')], [compose('chat', 'no plan')]])
    vi.restoreAllMocks()
  })

  it('goes on with the last known rule when it fails, and says so', async () => {
    const clock = manualClock()
    let policy: () => Rule = () => perMinute(50)
    const limiter = createLimiter({
      name: 'api',
      rule: perMinute(5),
      resolveRule: () => policy(),
      clock,
      ruleCache: 1_000,
    })
    const seen: unknown[] = []
    limiter.on('resolveRuleFailed', (event) => seen.push(event))
    await limiter.consume('luis')
    const broken = new Error('no database')
    policy = () => {
      throw broken
    }
    clock.advance(1_000)
    expect((await limiter.consume('luis')).limit).toBe(50)
    policy = () => tokenBucket({ capacity: 1, refill: 1, period: 1 })
    expect((await limiter.consume('ana')).limit).toBe(5)
    expect(seen).toEqual([
      { subject: 'luis', tier: 'api', error: broken },
      { subject: 'ana', tier: 'api', error: expect.objectContaining({ code: 'INVALID_OPTION' }) },
    ])
  })

  it('does not change how long a lease lasts', async () => {
    const rule = concurrency({ limit: 1, lease: 9_000 })
    const policy = () => concurrency({ limit: 5, lease: 60_000 })
    const limiter = createLimiter({ name: 'api', rule, resolveRule: policy, clock: manualClock() })
    const seen: unknown[] = []
    limiter.on('resolveRuleFailed', ({ error }) => seen.push((error as Error).message))
    expect((await limiter.acquire('luis', { heartbeat: false })).decision.limit).toBe(1)
    expect(seen).toEqual(["resolveRule must return a rule with the limiter's lease of 9000 ms, got 60000"])
  })

  it('does not hang with a policy that never answers', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: perMinute(5), resolveRule: () => new Promise(() => {}), clock })
    const waiting = limiter.consume('luis')
    await clock.run(1_000)
    expect((await waiting).limit).toBe(5)
  })

  it('may belong to one tier and not to others, and applies to every call', async () => {
    const clock = manualClock(60_000)
    const tiers = { user: { rule: perMinute(5), resolveRule: () => perMinute(50) }, all: perMinute(1_000) }
    const limiter = createLimiter({ name: 'api', tiers, clock })
    expect((await limiter.consume('luis')).tiers).toMatchObject({ user: { limit: 50 }, all: { limit: 1_000 } })
    expect((await limiter.charge('luis', 60)).tiers.user?.remaining).toBe(0)
    expect((await limiter.wait('ana')).tiers.user?.limit).toBe(50)
    const hold = await limiter.reserve('ana', { estimate: { user: 40 } })
    expect((await hold.settle({ user: 10 })).tiers.user?.remaining).toBe(39)
  })

  it('keeps memory bounded however many rules it makes, and forgets keys in time', async () => {
    const clock = manualClock(60_000)
    const store = memoryStore({ maxKeys: 10 })
    let count = 0
    const policy = (): Rule => fixedWindow({ limit: 10 + count++, window: 1_000 })
    const limiter = createLimiter({ name: 'api', rule: policy(), resolveRule: policy, store, clock })
    for (let key = 0; key < 50; key++) await limiter.consume(`key ${key}`)
    expect(store.stats()).toMatchObject({ keys: 10, evicted: 40 })
    for (let key = 0; key < 10; key++) await limiter.consume(`full ${key}`, { cost: 40 })
    expect(store.stats().keys).toBe(10)
    clock.advance(61_000)
    await limiter.consume('one')
    expect(store.stats().keys).toBe(1)
  })

  it('counts newcomers together while all keys are at their limit', async () => {
    const store = memoryStore({ maxKeys: 2 })
    const policy = (): Rule => fixedWindow({ limit: 3, window: 1_000 })
    const limiter = createLimiter({ name: 'api', rule: policy(), resolveRule: policy, store, clock: manualClock() })
    for (const key of ['a', 'b']) await limiter.consume(key, { cost: 3 })
    const newcomers = ['c', 'd', 'e', 'f'].map((key) => limiter.consume(key))
    expect((await Promise.all(newcomers)).map(({ allowed }) => allowed)).toEqual([true, true, true, false])
    expect(store.stats().shared).toBe(4)
  })
})
