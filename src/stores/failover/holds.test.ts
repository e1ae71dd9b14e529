import { beforeEach, describe, expect, it } from 'vitest'
import { decideCall, openLimit, operationOn } from '../../../test/open-limit.ts'
import { clock, find, limiterWith, lose, remaining, remoteStage, store } from '../../../test/remote-stage.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { LimiterOptions } from '../../limiter/options.ts'
import { concurrency } from '../../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { withFailover } from './failover.ts'
import { createPresence } from './presence.ts'

beforeEach(remoteStage)

const rule = fixedWindow({ limit: 1_000, window: 3_600_000 })

/** A limiter of tokens, unless the options say otherwise. */
const tokensWith = (options: Partial<LimiterOptions> = {}): Limiter => limiterWith({ rule, ...options })

describe('a hold', () => {
  it('taken and settled in an outage is charged with what was used', async () => {
    const limiter = tokensWith()
    await lose(limiter)
    const hold = await limiter.reserve('a', { estimate: 400 })
    expect(hold.decision).toMatchObject({ allowed: true, remaining: 600, decidedBy: 'fallback' })
    expect(await hold.settle(150)).toMatchObject({ allowed: true, remaining: 850, decidedBy: 'fallback' })
    await find(limiter)
    expect(await remaining('a', rule)).toBe(850)
  })

  it('taken in an outage and settled later is charged then', async () => {
    const limiter = tokensWith()
    await lose(limiter)
    const hold = await limiter.reserve('a', { estimate: 400 })
    await find(limiter)
    expect(await remaining('a', rule)).toBe(1_000)
    expect(await hold.settle(150)).toMatchObject({ allowed: true, decidedBy: 'fallback' })
    await clock.run(0)
    expect(await remaining('a', rule)).toBe(850)
    expect(await hold.settle(150)).toMatchObject({ allowed: false, reason: 'reservation-ended' })
  })

  it('taken in an outage and cancelled, or left to expire, is not charged', async () => {
    const limiter = tokensWith()
    await lose(limiter)
    const cancelled = await limiter.reserve('a', { estimate: 400 })
    await limiter.reserve('a', { estimate: 500, expiresIn: 1_000 })
    await cancelled.cancel()
    await clock.run(1_000)
    expect((await limiter.peek('a')).remaining).toBe(1_000)
    await find(limiter)
    expect(await remaining('a', rule)).toBe(1_000)
  })

  it.each(['fallback', 'allow', 'refuse'] as const)(
    'that the store may have taken without saying so goes back there: %s',
    async (onStoreFailure) => {
      const limiter = tokensWith({ onStoreFailure })
      store.behaviour = 'loses'
      const hold = await limiter.reserve('a', { estimate: 400 })
      store.behaviour = 'answers'
      const used = onStoreFailure === 'refuse' ? 0 : 150
      await hold.settle(150)
      await limiter.peek('b')
      await clock.run(0)
      expect(await remaining('a', rule)).toBe(1_000 - used)
    },
  )

  it('taken in an outage and settled in the next one is charged after that', async () => {
    const limiter = tokensWith()
    await lose(limiter)
    const hold = await limiter.reserve('a', { estimate: 400 })
    await find(limiter)
    store.behaviour = 'fails'
    expect(await hold.settle(150)).toMatchObject({ allowed: true, decidedBy: 'fallback' })
    await clock.run(0)
    store.behaviour = 'answers'
    await limiter.peek('b')
    await clock.run(0)
    expect(await remaining('a', rule)).toBe(850)
  })

  it('of the store is settled there when it is back', async () => {
    const limiter = tokensWith()
    const hold = await limiter.reserve('a', { estimate: 400 })
    await lose(limiter)
    expect(await hold.settle(150)).toMatchObject({ allowed: true, decidedBy: 'fallback' })
    await find(limiter)
    expect(await remaining('a', rule)).toBe(850)
  })

  it.each([
    ['allow', 0],
    ['refuse', 1_000],
  ] as const)('of the store is settled there also by the policy %s', async (onStoreFailure, nextAfterMs) => {
    const limiter = tokensWith({ onStoreFailure })
    const hold = await limiter.reserve('a', { estimate: 400 })
    await lose(limiter)
    expect(await hold.settle(150)).toMatchObject({ allowed: true, nextAfterMs, decidedBy: 'fallback' })
    await find(limiter)
    expect(await remaining('a', rule)).toBe(850)
  })

  it('is refused by the policy that refuses, and charged with what was used by the one that allows', async () => {
    const refusing = tokensWith({ onStoreFailure: 'refuse' })
    const allowing = tokensWith({ onStoreFailure: 'allow' })
    await lose(refusing)
    expect(await refusing.reserve('a', { estimate: 4 })).toMatchObject({ allowed: false })
    const hold = await allowing.reserve('a', { estimate: 4 })
    await hold.settle(30)
    const unused = await allowing.reserve('a', { estimate: 4 })
    await unused.cancel()
    await find(allowing)
    expect(await remaining('a', rule)).toBe(970)
  })

  it('is known here with 10,000 others, and then as any other that has ended', async () => {
    const limiter = tokensWith({ rule: fixedWindow({ limit: 20_000, window: 3_600_000 }), name: 'many' })
    await lose(limiter)
    const holds = []
    for (let count = 0; count <= 10_000; count++) holds.push(await limiter.reserve(`user:${count}`, { estimate: 1 }))
    await find(limiter)
    expect(await holds[0]?.settle(1)).toMatchObject({ allowed: false, reason: 'reservation-ended', decidedBy: 'redis' })
    expect(await holds[1]?.settle(1)).toMatchObject({ allowed: true, decidedBy: 'fallback' })
  })

  it('that cannot be settled can be tried again where failures are thrown', async () => {
    const limiter = tokensWith({ onStoreFailure: 'throw' })
    const hold = await limiter.reserve('a', { estimate: 400 })
    store.behaviour = 'fails'
    await expect(hold.settle(150)).rejects.toBe(store.error)
    store.behaviour = 'answers'
    await hold[Symbol.asyncDispose]()
    expect(await remaining('a', rule)).toBe(850)
  })
})

describe('a lease', () => {
  const places = concurrency({ limit: 2, lease: 60_000 })
  const placesLimiter = (): Limiter => createLimiter({ name: 'jobs', rule: places, store, clock, instances: 1 })

  it('is kept through an outage, and its permit is free if it was released meanwhile', async () => {
    const limiter = placesLimiter()
    const kept = await limiter.acquire('a')
    const released = await limiter.acquire('a')
    await lose(limiter)
    expect(await kept.renew()).toMatchObject({ allowed: true })
    await released.release()
    await find(limiter)
    expect(await kept.renew()).toMatchObject({ allowed: true, decidedBy: 'redis' })
    expect(kept.signal.aborted).toBe(false)
    expect(await limiter.acquire('a', { heartbeat: false })).toMatchObject({ allowed: true })
    await kept.release()
    await limiter.close()
  })

  it('is lost when the outage was longer', async () => {
    const limiter = placesLimiter()
    const lease = await limiter.acquire('a')
    await lose(limiter)
    await clock.run(61_000)
    expect(lease.signal.aborted).toBe(false)
    await find(limiter)
    await clock.run(20_000)
    expect(lease.signal.aborted).toBe(true)
    await limiter.close()
  })

  it('taken in an outage lives here until it is released', async () => {
    const limiter = placesLimiter()
    await lose(limiter)
    const lease = await limiter.acquire('a')
    expect(lease.decision).toMatchObject({ allowed: true, remaining: 1, decidedBy: 'fallback' })
    await find(limiter)
    await clock.run(200_000)
    expect(lease.signal.aborted).toBe(false)
    expect(await lease.release()).toMatchObject({ allowed: true, remaining: 2, decidedBy: 'fallback' })
    await limiter.close()
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('an id', () => {
  it('whose answer was lost is asked again, and counted once', async () => {
    const limiter = tokensWith()
    store.behaviour = 'loses'
    const consumed = limiter.consume('a', { idempotencyKey: 'order-7', cost: 10 })
    await clock.run(10)
    store.behaviour = 'answers'
    await clock.run(20)
    expect(await consumed).toMatchObject({ allowed: true, remaining: 990, decidedBy: 'redis' })
    expect(await remaining('a', rule)).toBe(990)
    await limiter.close()
    expect(clock.pendingTimers).toBe(0)
  })

  it('is given up at the deadline', async () => {
    const limiter = tokensWith({ onStoreFailure: 'throw' })
    store.behaviour = 'loses'
    const consumed = limiter.consume('a', { idempotencyKey: 'order-7', cost: 10 }).catch((error: unknown) => error)
    await clock.run(500)
    expect(await consumed).toBe(store.error)
    expect(store.asked).toBeGreaterThanOrEqual(4)
    expect(store.asked).toBeLessThanOrEqual(6)
    // The next probe, and no next try.
    expect(clock.pendingTimers).toBe(1)
    await find(limiter)
    expect((await limiter.consume('a', { idempotencyKey: 'order-7', cost: 10 })).remaining).toBe(990)
  })

  it('is counted once in an outage too', async () => {
    const limiter = tokensWith()
    await lose(limiter)
    const first = await limiter.consume('a', { idempotencyKey: 'order-7', cost: 10 })
    const again = await limiter.consume('a', { idempotencyKey: 'order-7', cost: 10 })
    expect(again).toEqual(first)
    expect((await limiter.consume('a')).remaining).toBe(989)
    await find(limiter)
    expect(await remaining('a', rule)).toBe(989)
  })

  it('is counted also when no more ids can be remembered here', async () => {
    const events = { has: () => true, storeFailed() {}, degraded() {}, recovered() {}, prefetched() {} }
    const createLocal = () => memoryStore({ maxKeys: 3 })
    const presence = createPresence()
    const failing = withFailover(store, { clock, timeoutMs: 500, instances: 1, createLocal, presence, events })
    const { limit, decide } = openLimit(failing, { limiter: 'api', rule })
    const consume = async (id: string): Promise<number | undefined> => {
      const operations = [operationOn(limit, 'a', { type: 'consume', amount: 1 })]
      const [result] = await decideCall(failing, operations, clock.nowMs(), { key: id, ttlMs: 60_000 }, 500)
      return result?.remaining
    }
    store.behaviour = 'fails'
    while (failing.health.state === 'healthy') await decide('unused', { type: 'peek', amount: 1 }, clock.nowMs())
    expect([await consume('1'), await consume('1'), await consume('2'), await consume('3')]).toEqual([
      999, 999, 998, 997,
    ])
    expect([await consume('one more'), await consume('one more')]).toEqual([996, 995])
    await failing.close?.()
  })

  it('is not asked again when one key is wrong, and without an id nothing is', async () => {
    const limiter = tokensWith()
    store.behaviour = 'loses'
    await limiter.consume('a', { cost: 10 })
    expect(store.asked).toBe(1)
  })
})
