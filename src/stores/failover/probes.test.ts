import { beforeEach, describe, expect, it } from 'vitest'
import { clock, failOften, limiterWith, remoteStage, rule, store } from '../../../test/remote-stage.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'

beforeEach(remoteStage)

describe('probes', () => {
  it('come in the background, ever more rarely, until one succeeds', async () => {
    const limiter = limiterWith()
    await failOften(limiter)
    const { asked } = store
    await clock.run(3_500)
    const early = store.asked - asked
    await clock.run(60_000)
    const late = store.asked - asked - early
    // Each asks for something to be written, and about the key that failed.
    expect(early).toBeGreaterThanOrEqual(2 * 4)
    expect(early).toBeLessThanOrEqual(2 * 7)
    expect(late).toBeGreaterThanOrEqual(2 * 24)
    expect(late).toBeLessThanOrEqual(2 * 40)
    store.behaviour = 'answers'
    await clock.run(2_500)
    expect(limiter.health).toMatchObject({ state: 'healthy', error: undefined })
    expect((await limiter.consume('b')).decidedBy).toBe('redis')
    expect(clock.pendingTimers).toBe(0)
  })

  it('look where the store failed: elsewhere it may be well', async () => {
    const { answer } = store
    const broken = new Set(['a'])
    store.answer = (call) =>
      call.operations.some(({ key }) => broken.has(key)) ? Promise.reject(store.error) : answer(call)
    const limiter = limiterWith()
    for (let count = 0; count < 5; count++) await limiter.consume('a')
    await clock.run(10_000)
    expect(limiter.health.state).toBe('degraded')
    broken.clear()
    await clock.run(3_000)
    expect(limiter.health.state).toBe('healthy')
  })

  it('reach callers that ask without a pause', async () => {
    const limiter = createLimiter({ name: 'api', rule, store, instances: 1 })
    await failOften(limiter)
    store.behaviour = 'answers'
    for (let count = 0; limiter.health.state === 'degraded'; count++) await limiter.consume(`user:${count % 100}`)
    await limiter.close()
  })

  it('that are not answered are given up too', async () => {
    const limiter = limiterWith()
    await failOften(limiter)
    store.behaviour = 'silent'
    await clock.run(10_000)
    expect(limiter.health.state).toBe('degraded')
    store.behaviour = 'answers'
    await clock.run(3_000)
    expect(limiter.health.state).toBe('healthy')
  })

  it('stay rare for a store that fails again soon', async () => {
    const limiter = limiterWith()
    await failOften(limiter)
    await clock.run(20_000)
    store.behaviour = 'answers'
    await clock.run(3_000)
    await failOften(limiter)
    const { asked } = store
    await clock.run(1_400)
    expect(store.asked).toBe(asked)
  })

  it('begin early again for a store that was well for a while', async () => {
    const limiter = limiterWith()
    await failOften(limiter)
    await clock.run(20_000)
    store.behaviour = 'answers'
    await clock.run(3_000 + 10_001)
    await failOften(limiter)
    store.behaviour = 'answers'
    await clock.run(125)
    expect(limiter.health.state).toBe('healthy')
  })

  it('end with the last limiter, and a new one starts afresh', async () => {
    const limiter = limiterWith()
    const other = limiterWith({ name: 'other' })
    await failOften(limiter)
    await limiter.close()
    expect(clock.pendingTimers).toBe(1)
    await other.close()
    expect(clock.pendingTimers).toBe(0)
    expect(limiterWith().health.state).toBe('healthy')
  })

  it('count for no limiter', async () => {
    const limiter = limiterWith()
    await failOften(limiter)
    store.behaviour = 'answers'
    await clock.run(200)
    expect((await limiter.peek('0')).remaining).toBe(10)
  })
})
