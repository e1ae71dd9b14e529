import { describe, expect, it } from 'vitest'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../rules/leaky-bucket/leaky-bucket.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
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

describe('a decision over tiers', () => {
  it('has the numbers of all of them, and says who is scarcest', async () => {
    const decision = await messages().consume({ user: '42', ip: '203.0.113.7', global: 'all' }, { cost: { ip: 10 } })
    expect(decision).toEqual({
      allowed: true,
      limit: 50,
      remaining: 40,
      retryAfterMs: 0,
      resetAfterMs: 120_000,
      delayMs: 0,
      limitedBy: undefined,
      reason: undefined,
      nextAfterMs: 100,
      wouldRefuse: [],
      decidedBy: 'memory',
      tiers: {
        user: {
          allowed: true,
          limit: 100,
          remaining: 99,
          retryAfterMs: 0,
          resetAfterMs: 120_000,
          delayMs: 0,
          reason: undefined,
          nextAfterMs: 60_000,
        },
        ip: {
          allowed: true,
          limit: 50,
          remaining: 40,
          retryAfterMs: 0,
          resetAfterMs: 1_000,
          delayMs: 0,
          reason: undefined,
          nextAfterMs: 100,
        },
        global: {
          allowed: true,
          limit: 10_000,
          remaining: 9_999,
          retryAfterMs: 0,
          resetAfterMs: 1_000,
          delayMs: 0,
          reason: undefined,
          nextAfterMs: 1_000,
        },
      },
    })
  })

  it('names of several that refuse the one that will do so longest', async () => {
    const limiter = messages()
    await limiter.consume('a', { cost: { user: 100, ip: 50 } })
    const refused = await limiter.consume('a')
    expect(refused).toMatchObject({ allowed: false, limitedBy: 'user', limit: 100, remaining: 0, reason: 'limit' })
    expect(refused.retryAfterMs).toBe(refused.tiers.user?.retryAfterMs)
    expect(refused.tiers.ip).toMatchObject({ allowed: false, retryAfterMs: 100 })
    expect(refused.tiers.global).toMatchObject({ allowed: true, remaining: 9_999 })
  })

  it('never passes when it costs one tier more than that could ever allow', async () => {
    const refused = await messages().consume('a', { cost: { ip: 51 } })
    expect(refused).toMatchObject({ limitedBy: 'ip', reason: 'cost-exceeds-limit', retryAfterMs: Infinity })
  })

  it('waits for the longest delay of a rule that shapes', async () => {
    const shape = leakyBucket({ capacity: 10, leak: 1, period: 100, mode: 'shape' })
    const limiter = createLimiter({ name: 'shaped', tiers: { user, shape }, clock: manualClock(60_000) })
    await limiter.consume('a')
    expect((await limiter.consume('a')).delayMs).toBe(100)
  })

  it('takes one subject of a kind for all tiers, and leaves out who is undefined', async () => {
    const limiter = messages()
    await limiter.consume({ kind: 'ip', name: '::1' })
    expect((await limiter.peek({ ip: { kind: 'ip', name: '::1' } })).remaining).toBe(49)
    const anonymous = await limiter.consume({ user: undefined, ip: '::1' })
    expect(Object.keys(anonymous.tiers)).toEqual(['ip'])
  })

  it('charges and refunds what is named, and only that', async () => {
    const limiter = messages()
    expect((await limiter.charge('a', { ip: 20 })).tiers).toMatchObject({ ip: { remaining: 30 } })
    expect(Object.keys((await limiter.refund('a', { ip: 5 })).tiers)).toEqual(['ip'])
    await limiter.charge('a')
    const standing = await limiter.peek('a')
    expect([standing.tiers.user?.remaining, standing.tiers.ip?.remaining]).toEqual([99, 34])
  })

  it('blocks, unblocks and resets what is named', async () => {
    const limiter = messages()
    await limiter.consume('a', { cost: 5 })
    expect(await limiter.block({ ip: 'a' }, 5_000)).toMatchObject({ limitedBy: 'ip', retryAfterMs: 5_000 })
    expect(await limiter.consume('a')).toMatchObject({ allowed: false, limitedBy: 'ip', reason: 'blocked' })
    expect((await limiter.unblock({ ip: 'a' })).remaining).toBe(45)
    expect((await limiter.reset({ ip: 'a' })).remaining).toBe(50)
    expect((await limiter.peek('a')).tiers.user?.remaining).toBe(95)
  })

  it('has the rules by name, and keeps keys of tiers apart from those of limiters and of other tiers', async () => {
    const store = memoryStore()
    const clock = manualClock()
    const tiers = { a: global, b: global }
    const limiter = createLimiter({ name: 'x', tiers, store, clock })
    const single = createLimiter({ name: 'x', rule: global, store, clock })
    await limiter.consume({ a: 'key' })
    expect((await limiter.peek({ b: 'key' })).remaining).toBe(10_000)
    expect((await single.peek('key')).remaining).toBe(10_000)
    expect(limiter.rules).toEqual(tiers)
  })
})

describe('a limit in shadow mode', () => {
  const rule = fixedWindow({ limit: 1, window: 60_000 })

  it('of a limiter of one rule lets everything pass and says what it would have refused', async () => {
    const limiter = createLimiter({ name: 'new', rule, shadow: true, blockFor: 5_000, clock: manualClock() })
    expect(await limiter.consume('a')).toMatchObject({ allowed: true, wouldRefuse: [] })
    expect(await limiter.consume('a')).toMatchObject({
      allowed: true,
      limitedBy: undefined,
      retryAfterMs: 0,
      reason: undefined,
      wouldRefuse: ['new'],
    })
    expect((await limiter.peek('a')).wouldRefuse).toEqual(['new'])
    expect(await limiter.consume('b', { idempotencyKey: 'one' })).toMatchObject({ allowed: true })
  })

  it('speaks only when it is alone', async () => {
    const tiers = { seen: { rule, shadow: true }, real: fixedWindow({ limit: 5, window: 1_000 }) }
    const limiter = createLimiter({ name: 'x', tiers, clock: manualClock() })
    await limiter.consume('a')
    expect(await limiter.consume('a')).toMatchObject({
      remaining: 3,
      limit: 5,
      resetAfterMs: 1_000,
      wouldRefuse: ['seen'],
    })
    expect(await limiter.consume({ seen: 'a' })).toMatchObject({
      allowed: true,
      remaining: 0,
      limit: 1,
      wouldRefuse: ['seen'],
    })
  })

  it('blocks no key', async () => {
    const tiers = { seen: { rule, shadow: true, blockFor: 60_000 }, real: global }
    const clock = manualClock(60_000)
    const limiter = createLimiter({ name: 'x', tiers, clock })
    for (let count = 0; count < 3; count++) await limiter.consume('a')
    clock.advance(60_000)
    expect((await limiter.consume('a')).wouldRefuse).toEqual([])
  })
})

it('a request that comes again with other tiers is another request', async () => {
  const limiter = messages()
  await limiter.consume({ user: 'a', ip: 'b' }, { idempotencyKey: 'one' })
  await limiter.consume({ user: 'a' }, { idempotencyKey: 'one' })
  await limiter.consume({ user: 'a', ip: 'b' }, { idempotencyKey: 'one' })
  expect((await limiter.peek({ user: 'a', ip: 'b' })).tiers).toMatchObject({
    user: { remaining: 98 },
    ip: { remaining: 49 },
  })
})

it('permits count among tiers, and are not scaled when a policy changes their number', async () => {
  let limit = 4
  const places = {
    rule: concurrency({ limit: 1, lease: 60_000 }),
    resolveRule: () => concurrency({ limit, lease: 60_000 }),
  }
  const clock = manualClock()
  const limiter = createLimiter({ name: 'x', tiers: { places }, clock, ruleCache: 1 })
  for (let count = 0; count < 3; count++) await limiter.acquire('a', { heartbeat: false })
  limit = 10
  clock.advance(1)
  expect((await limiter.peek('a')).remaining).toBe(7)
  limit = 2
  clock.advance(1)
  expect(await limiter.peek('a')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 59_998 })
})
