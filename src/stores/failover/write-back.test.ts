import { beforeEach, describe, expect, it } from 'vitest'
import { clock, find, limiterWith, lose, remaining, remoteStage, store, takeNoIds } from '../../../test/remote-stage.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { concurrency } from '../../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../../rules/token-bucket/token-bucket.ts'

beforeEach(remoteStage)

const bucket = tokenBucket({ capacity: 100, refill: 100, period: 100_000 })
const log = slidingLog({ limit: 100, window: 60_000 })

/** Lets the store be gone for `forMs`, after which everything has been said to it. */
async function outage(limiter: Limiter, act: () => Promise<unknown>, forMs = 1_000): Promise<void> {
  await lose(limiter)
  const endMs = clock.nowMs() + forMs
  await act()
  await clock.run(Math.max(0, endMs - clock.nowMs()))
  await find(limiter)
}

describe('after an outage', () => {
  it('what was taken is charged to the store', async () => {
    const limiter = limiterWith({ rule: log })
    await limiter.consume('a', { cost: 10 })
    await outage(limiter, async () => {
      await limiter.consume('a', { cost: 20 })
      await limiter.consume('a', { cost: 5 })
      await limiter.consume('b', { cost: 7 })
    })
    expect([await remaining('a', log), await remaining('b', log)]).toEqual([65, 93])
  })

  it('it is charged before any caller takes more of the same key', async () => {
    const limiter = limiterWith({ rule: log })
    await lose(limiter)
    await limiter.consume('a', { cost: 60 })
    store.behaviour = 'answers'
    const decisions: Promise<unknown>[] = []
    limiter.on('recovered', () => {
      for (let count = 0; count < 3; count++) decisions.push(limiter.consume('a', { cost: 20 }))
    })
    await clock.run(3_000)
    expect(await Promise.all(decisions)).toMatchObject([
      { allowed: true, remaining: 20, decidedBy: 'redis' },
      { allowed: true, remaining: 0 },
      { allowed: false },
    ])
  })

  it('no caller takes more of it while it is being charged', async () => {
    const limiter = limiterWith({ rule: log })
    await lose(limiter)
    await limiter.consume('a', { cost: 60 })
    store.behaviour = 'answers'
    limiter.on('recovered', () => {
      store.behaviour = 'silent'
    })
    await clock.run(200)
    store.behaviour = 'answers'
    const asked = [limiter.consume('a', { cost: 60 }), limiter.consume('a', { cost: 40 })]
    await clock.run(100)
    store.speak()
    expect(await Promise.all(asked)).toMatchObject([
      { allowed: false, remaining: 40, decidedBy: 'redis' },
      { allowed: true, remaining: 0, decidedBy: 'redis' },
    ])
  })

  it('only what still counts is charged', async () => {
    const limiter = limiterWith({ rule: log })
    await outage(limiter, () => limiter.consume('a', { cost: 20 }), 60_000)
    expect(await remaining('a', log)).toBe(100)
    const drained = limiterWith({ rule: bucket, name: 'bucket' })
    await lose(drained)
    await drained.consume('a', { cost: 50 })
    await clock.run(20_000)
    store.behaviour = 'answers'
    await clock.run(2_400)
    const left = await createLimiter({ name: 'bucket', rule: bucket, store, clock }).peek('a')
    expect(left.remaining).toBeGreaterThanOrEqual(70)
    expect(left.remaining).toBeLessThanOrEqual(73)
  })

  it('nothing is charged twice when the store is lost again and again', async () => {
    const limiter = limiterWith({ rule: log })
    for (let count = 0; count < 5; count++) await outage(limiter, () => limiter.consume('a', { cost: 3 }))
    expect(await remaining('a', log)).toBe(85)
  })

  it('a share is not new at each outage', async () => {
    const limiter = limiterWith({ rule: log, instances: 4 })
    let admitted = 0
    for (let count = 0; count < 5; count++) {
      await outage(limiter, async () => {
        for (let asked = 0; asked < 30; asked++) if ((await limiter.consume('a')).allowed) admitted++
      })
    }
    expect(admitted).toBe(25)
  })

  it('a charge whose answer is lost is sent again, and counts once', async () => {
    const limiter = limiterWith({ rule: log })
    await lose(limiter)
    await limiter.consume('a', { cost: 20 })
    await limiter.block('b', 60_000)
    store.behaviour = 'answers'
    limiter.on('recovered', () => {
      store.behaviour = 'loses'
    })
    await clock.run(3_000)
    store.behaviour = 'answers'
    await limiter.consume('c')
    await clock.run(3_000)
    expect(await remaining('a', log)).toBe(80)
    const blocked = await limiterWith({ rule: log }).peek('b')
    expect(blocked.reason).toBe('blocked')
  })

  it('a store that remembers no charges gets them all the same', async () => {
    const limiter = limiterWith({ rule: log })
    const { answer } = store
    takeNoIds()
    await outage(limiter, () => limiter.consume('a', { cost: 20 }))
    store.answer = answer
    expect(await remaining('a', log)).toBe(80)
  })

  it('a key that was at its share all the time owes its share, and not all that has come back since', async () => {
    const limiter = limiterWith({ rule: bucket })
    await outage(
      limiter,
      async () => {
        for (let second = 0; second < 300; second++) {
          await clock.run(1_000)
          while ((await limiter.consume('a')).allowed);
        }
      },
      300_000,
    )
    const { retryAfterMs } = await limiter.peek('a', { cost: 1 })
    expect(retryAfterMs).toBeLessThanOrEqual(1_000)
  })

  it('a write without an answer is sent again', async () => {
    const limiter = limiterWith({ rule: log })
    await limiter.block('unblocked', 3_600_000)
    await limiter.consume('reset', { cost: 30 })
    const hold = await limiter.reserve('settled', { estimate: 50 })
    await lose(limiter)
    await Promise.all([limiter.consume('a', { cost: 20 }), limiter.block('b', 60_000), limiter.unblock('unblocked')])
    await Promise.all([limiter.reset('reset'), hold.settle(5)])
    store.behaviour = 'answers'
    const stop = limiter.on('recovered', () => {
      store.behaviour = 'fails'
    })
    await clock.run(200)
    stop()
    store.behaviour = 'answers'
    await clock.run(5_000)
    await limiter.consume('unused')
    await clock.run(0)
    const peek = (key: string) => limiterWith({ rule: log }).peek(key)
    expect(await peek('b')).toMatchObject({ reason: 'blocked' })
    expect(await peek('unblocked')).toMatchObject({ allowed: true })
    expect([await remaining('a', log), await remaining('reset', log)]).toEqual([80, 100])
    expect(await remaining('settled', log)).toBe(95)
  })

  it('permits are not charged: they come back with their lease', async () => {
    const rule = concurrency({ limit: 5, lease: 60_000 })
    const limiter = limiterWith({ rule })
    await outage(limiter, async () => {
      await limiter.acquire('a', { heartbeat: false })
      await limiter.consume('a')
    })
    expect(await remaining('a', rule)).toBe(5)
  })

  it('also a single failure is made up for, when the next answer comes', async () => {
    const limiter = limiterWith({ rule: log })
    store.behaviour = 'fails'
    await limiter.consume('a', { cost: 20 })
    store.behaviour = 'answers'
    await limiter.consume('other')
    await clock.run(0)
    expect(await remaining('a', log)).toBe(80)
  })

  it('all of very many keys are charged', async () => {
    const limiter = limiterWith({ rule: log })
    const keys = Array.from({ length: 1_200 }, (_, index) => `user:${index}`)
    await outage(limiter, async () => {
      for (const key of keys) await limiter.consume(key)
    })
    expect(new Set(await Promise.all(keys.map((key) => remaining(key, log))))).toEqual(new Set([99]))
  })

  it('a store that is lost again meanwhile gets no more', async () => {
    const limiter = limiterWith({ rule: log })
    await lose(limiter)
    for (let index = 0; index < 1_200; index++) await limiter.consume(`user:${index}`)
    limiter.on('recovered', () => {
      store.behaviour = 'silent'
    })
    store.behaviour = 'answers'
    const { asked } = store
    await clock.run(1_500)
    expect(store.asked - asked).toBeGreaterThan(250)
    expect(store.asked - asked).toBeLessThan(300)
  })

  it('no more than 10,000 keys owe something', async () => {
    const limiter = limiterWith({ rule: log })
    await outage(limiter, async () => {
      for (let index = 0; index <= 10_000; index++) await limiter.consume(`user:${index}`)
    })
    expect([await remaining('user:9999', log), await remaining('user:10000', log)]).toEqual([99, 100])
  })
})

describe('what is done to a key during an outage', () => {
  it.each(['fallback', 'allow', 'refuse'] as const)('is done to the store afterwards: %s', async (onStoreFailure) => {
    const limiter = limiterWith({ rule: log, onStoreFailure })
    await limiter.consume('reset', { cost: 30 })
    await limiter.block('unblocked', 3_600_000)
    await limiter.block('blocked and unblocked', 3_600_000)
    await outage(limiter, async () => {
      await limiter.charge('charged', 12)
      await limiter.charge('beyond', 150)
      await limiter.block('blocked', 30_000)
      await limiter.block('blocked for a moment', 500)
      await limiter.unblock('unblocked')
      await limiter.reset('reset')
    })
    const peek = (key: string) => limiterWith({ rule: log }).peek(key)
    expect(await remaining('charged', log)).toBe(88)
    expect(await peek('beyond')).toMatchObject({ allowed: false, remaining: 0 })
    // All of it was charged, and not only up to the limit.
    await limiter.refund('beyond', 50)
    expect(await remaining('beyond', log)).toBe(0)
    await limiter.refund('beyond', 10)
    expect(await remaining('beyond', log)).toBe(10)
    const blocked = await peek('blocked')
    expect(blocked.reason).toBe('blocked')
    expect(blocked.retryAfterMs).toBeLessThan(30_000 - 900)
    expect(await peek('blocked for a moment')).toMatchObject({ allowed: true })
    expect(await peek('unblocked')).toMatchObject({ allowed: true })
    expect(await peek('blocked and unblocked')).toMatchObject({ reason: 'blocked' })
    expect(await remaining('reset', log)).toBe(100)
  })

  it('and refunded is not charged', async () => {
    const limiter = limiterWith({ rule: log })
    await outage(limiter, async () => {
      await limiter.consume('a', { cost: 20 })
      await limiter.refund('a', 15)
      await limiter.refund('b', 15)
      await limiter.charge('c', 150)
      await limiter.refund('c', 30)
    })
    expect([await remaining('a', log), await remaining('b', log)]).toEqual([95, 100])
    await limiter.refund('c', 30)
    expect(await remaining('c', log)).toBe(10)
  })

  it('is done in full where no other instance shares', async () => {
    const limiter = createLimiter({ name: 'api', rule: log, store, clock, onStoreFailure: 'refuse' })
    await outage(limiter, () => limiter.charge('a', 12))
    expect(await remaining('a', log)).toBe(88)
  })

  it('and then reset is forgotten', async () => {
    const limiter = limiterWith({ rule: fixedWindow({ limit: 100, window: 3_600_000 }) })
    await outage(limiter, async () => {
      await limiter.consume('a', { cost: 100 })
      await limiter.reset('a')
      await limiter.consume('a', { cost: 100 })
    })
    await limiter.refund('a', 10)
    expect(await remaining('a', fixedWindow({ limit: 100, window: 3_600_000 }))).toBe(10)
  })
})
