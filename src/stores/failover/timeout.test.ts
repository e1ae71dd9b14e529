import { beforeEach, describe, expect, it } from 'vitest'
import { clock, limiterWith, remoteStage, rule, store } from '../../../test/remote-stage.ts'
import type { Store } from '../../core/store.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'

beforeEach(remoteStage)

const asks: readonly [string, (limiter: Limiter) => Promise<unknown>][] = [
  ['consume', (limiter) => limiter.consume('a')],
  ['consume with an id', (limiter) => limiter.consume('a', { idempotencyKey: 'x' })],
  ['peek', (limiter) => limiter.peek('a')],
  ['charge', (limiter) => limiter.charge('a')],
  ['refund', (limiter) => limiter.refund('a')],
  ['reserve', (limiter) => limiter.reserve('a', { estimate: 2 })],
  ['wait', (limiter) => limiter.wait('a')],
  ['block', (limiter) => limiter.block('a', 5)],
  ['unblock', (limiter) => limiter.unblock('a')],
  ['reset', (limiter) => limiter.reset('a')],
]

describe('no answer', () => {
  it.each(asks)('to %s is waited for until the deadline, and no longer', async (_, ask) => {
    const limiter = limiterWith({ timeout: 300 })
    store.behaviour = 'silent'
    let answer: unknown
    void ask(limiter).then((given) => {
      answer = given
    })
    await clock.run(299)
    expect(answer).toBeUndefined()
    await clock.run(1)
    await clock.run(0)
    expect(answer).toBeDefined()
    await limiter.close()
    expect(clock.pendingTimers).toBe(0)
  })

  it('is 500 ms long by default, and says so where it throws', async () => {
    const limiter = limiterWith({ onStoreFailure: 'throw' })
    store.behaviour = 'silent'
    const consumed = limiter.consume('a').catch((error: unknown) => error)
    await clock.run(500)
    expect(await consumed).toMatchObject({
      code: 'STORE_FAILED',
      message: 'the store timed out after 500 ms',
    })
  })

  it('cancels what the store does for it, with the reply of the caller', async () => {
    const cancelled: unknown[] = []
    const silent: Store = { ...store, decide: (_, reply) => void reply.onTimeout?.((reason) => cancelled.push(reason)) }
    const limiter = limiterWith({ store: silent, timeout: 300, onStoreFailure: 'throw' })
    const consumed = limiter.consume('a').catch((error: unknown) => error)
    await clock.run(299)
    expect(cancelled).toEqual([])
    await clock.run(1)
    expect(cancelled).toEqual([await consumed])
  })

  it('cancels at once a call that the store starts later', async () => {
    const cancelled: unknown[] = []
    const decide: Store['decide'] = (_, reply) => {
      clock.timer(400, () => reply.onTimeout?.((reason) => cancelled.push(reason)))
      return undefined
    }
    const limiter = limiterWith({ store: { ...store, decide }, timeout: 300 })
    void limiter.consume('a')
    await clock.run(399)
    expect(cancelled).toEqual([])
    await clock.run(1)
    expect(cancelled).toMatchObject([{ message: 'the store timed out after 300 ms' }])
  })

  it('that came in time cancels nothing', async () => {
    const cancelled: unknown[] = []
    const decide: Store['decide'] = (call, reply) => {
      reply.onTimeout?.((reason) => cancelled.push(reason))
      return store.decide(call, reply)
    }
    const limiter = limiterWith({ store: { ...store, decide }, timeout: 300 })
    const consumed = limiter.consume('a')
    await clock.run(1_000)
    expect([(await consumed).decidedBy, cancelled]).toEqual(['redis', []])
  })

  it('of tiers is bounded as a whole, whatever the store does for it', async () => {
    const limiter = createLimiter({ name: 'api', tiers: { one: rule, other: rule }, store, clock, instances: 1 })
    store.behaviour = 'silent'
    const consumed = limiter.consume({ one: 'a', other: 'b' })
    await clock.run(500)
    expect((await consumed).decidedBy).toBe('fallback')
  })

  it('is waited for from when the policy has said the rule', async () => {
    const policy = () => new Promise<undefined>((resolve) => clock.timer(900, () => resolve(undefined)))
    const limiter = limiterWith({ timeout: 300, resolveRule: policy })
    store.behaviour = 'silent'
    let decidedBy: string | undefined
    void limiter.consume('a').then((decision) => {
      decidedBy = decision.decidedBy
    })
    await clock.run(1_199)
    expect(decidedBy).toBeUndefined()
    await clock.run(1)
    await clock.run(0)
    expect(decidedBy).toBe('fallback')
  })

  it('that comes too late changes nothing any more', async () => {
    const limiter = limiterWith()
    store.behaviour = 'silent'
    const consumed = limiter.consume('a')
    const peeked = limiter.peek('a')
    await clock.run(500)
    expect((await consumed).decidedBy).toBe('fallback')
    expect((await peeked).decidedBy).toBe('fallback')
    store.speak()
    await clock.run(0)
    expect(limiter.health.state).toBe('degraded')
  })

  it('does not depend on the clock of the machine', async () => {
    const limiter = limiterWith({ timeout: 300 })
    store.behaviour = 'silent'
    const consumed = limiter.consume('a')
    clock.set(0)
    await clock.run(300)
    expect((await consumed).decidedBy).toBe('fallback')
  })
})

describe('answers', () => {
  it('in time leave no timer', async () => {
    const limiter = limiterWith()
    await Promise.all(Array.from({ length: 2_000 }, (_, index) => limiter.consume(`user:${index}`)))
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('a real deadline', () => {
  it('is kept', async () => {
    store.behaviour = 'silent'
    const limiter = createLimiter({ name: 'api', rule, store, timeout: 30, instances: 1 })
    const startedMs = performance.now()
    const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.consume('a')))
    const tookMs = performance.now() - startedMs
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10)
    expect(tookMs).toBeGreaterThanOrEqual(30)
    await limiter.close()
  })

  it('is that of a store that answers in real time, and so are probes, whatever the clock of the limiter says', async () => {
    const options = { name: 'api', rule, clock, timeout: 200, instances: 1 }
    const limiter = createLimiter({ ...options, store: { ...store, realTime: true } })
    const recovered = new Promise((resolve) => void limiter.on('recovered', resolve))
    store.behaviour = 'silent'
    const early = limiter.consume('a')
    await clock.run(86_400_000)
    store.speak()
    expect((await early).decidedBy).toBe('redis')
    expect((await limiter.consume('a')).decidedBy).toBe('fallback')
    expect([limiter.health.state, clock.pendingTimers]).toEqual(['degraded', 0])
    store.behaviour = 'answers'
    await recovered
    expect((await limiter.consume('a')).decidedBy).toBe('redis')
    await limiter.close()
  })
})
