import { beforeEach, describe, expect, it } from 'vitest'
import { clock, limiterWith, lose, remaining, remoteStage, rule, store, takeNoIds } from '../../../test/remote-stage.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'

beforeEach(remoteStage)

/** Lets everything that the store says come so much later, unless it fails. To be called before a limiter is made. */
function answerAfter(lateMs: number): void {
  const { answer } = store
  store.answer = async (call) => {
    const told = answer(call)
    if (store.behaviour === 'fails') return told
    await Promise.allSettled([told])
    await new Promise<void>((resolve) => clock.timer(lateMs, resolve))
    return told
  }
}

/** How long it takes to close a limiter. */
async function closingMs(limiter: Limiter): Promise<number> {
  const startMs = clock.nowMs()
  const closed = limiter.close().then(() => clock.nowMs() - startMs)
  await clock.run(10_000)
  return closed
}

describe('closing a limiter', () => {
  it('waits for what is under way', async () => {
    const limiter = limiterWith()
    store.behaviour = 'silent'
    const consumed = limiter.consume('a')
    const closed = limiter.close()
    await clock.run(100)
    store.speak()
    await closed
    expect(await consumed).toMatchObject({ allowed: true, decidedBy: 'redis' })
    expect(clock.pendingTimers).toBe(0)
  })

  it('does not wait longer than the deadline', async () => {
    const limiter = limiterWith()
    store.behaviour = 'silent'
    const consumed = limiter.consume('a')
    let isClosed = false
    void limiter.close().then(() => {
      isClosed = true
    })
    await clock.run(500)
    await clock.run(0)
    expect(isClosed).toBe(true)
    expect((await consumed).decidedBy).toBe('fallback')
    expect(clock.pendingTimers).toBe(0)
  })

  it('during an outage ends at once, and leaves no timer', async () => {
    // Counted among others, whom it cannot tell now that it leaves.
    const limiter = createLimiter({ name: 'api', rule, store, clock })
    await limiter.consume('a')
    await clock.run(1_000)
    await limiter.consume('a')
    await lose(limiter)
    await limiter.consume('a')
    store.behaviour = 'silent'
    const { asked } = store
    expect(await closingMs(limiter)).toBe(0)
    expect([store.asked, clock.pendingTimers]).toEqual([asked, 0])
    await expect(limiter.consume('a')).rejects.toMatchObject({ code: 'LIMITER_CLOSED' })
  })

  it('says first what is still owed', async () => {
    const limiter = limiterWith()
    store.behaviour = 'fails'
    await limiter.consume('a', { cost: 3 })
    store.behaviour = 'answers'
    await limiter.close()
    expect(await remaining('a')).toBe(7)
  })

  it('takes two deadlines at most, however many keys owe something to a store that is slow', async () => {
    answerAfter(400)
    const tiered = () => createLimiter({ name: 'api', tiers: { user: rule, site: rule }, store, clock, instances: 1 })
    const limiter = tiered()
    const keys = Array.from({ length: 600 }, (_, index) => `user:${index}`)
    store.behaviour = 'fails'
    await Promise.all(keys.map((key) => limiter.consume(key)))
    store.behaviour = 'answers'
    const consumed = limiter.consume({ user: 'under way' })
    expect(await closingMs(limiter)).toBe(2 * 400)
    expect((await consumed).decidedBy).toBe('redis')
    const other = tiered()
    const peeked = Promise.all(keys.map((key) => other.peek({ site: key })))
    await clock.run(400)
    expect(new Set((await peeked).map(({ remaining: left }) => left))).toEqual(new Set([9]))
    expect(clock.pendingTimers).toBe(0)
  })

  it('takes no longer while what is owed is being said already', async () => {
    answerAfter(400)
    const limiter = limiterWith()
    store.behaviour = 'fails'
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => limiter.consume(`user:${index}`)))
    store.behaviour = 'answers'
    void limiter.consume('the answer that has it said')
    await clock.run(450)
    void limiter.consume('under way')
    await clock.run(50)
    expect(await closingMs(limiter)).toBeLessThanOrEqual(1_000)
    await clock.run(400)
    const left = remaining('user:999')
    await clock.run(400)
    expect(await left).toBe(9)
    expect(clock.pendingTimers).toBe(0)
  })

  it('takes no longer when a write has to be sent twice, and it is sent', async () => {
    const { answer } = store
    takeNoIds()
    answerAfter(400)
    const limiter = limiterWith()
    store.behaviour = 'fails'
    await limiter.consume('a', { cost: 3 })
    store.behaviour = 'answers'
    void limiter.consume('under way')
    expect(await closingMs(limiter)).toBe(1_000)
    await clock.run(400)
    store.answer = answer
    answerAfter(400)
    const left = remaining('a')
    await clock.run(400)
    expect(await left).toBe(7)
    expect(clock.pendingTimers).toBe(0)
  })

  it('lets a hold be settled afterwards', async () => {
    const limiter = limiterWith()
    const hold = await limiter.reserve('a', { estimate: 5 })
    await limiter.close()
    await hold.settle(2)
    expect(await remaining('a')).toBe(8)
    expect(clock.pendingTimers).toBe(0)
  })

  it('may be done twice, and with a store of its own', async () => {
    const limiter = createLimiter({ name: 'api', rule })
    expect(limiter.health).toEqual({ state: 'healthy', forMs: 0, error: undefined })
    await limiter.close()
    await limiter.close()
  })
})
