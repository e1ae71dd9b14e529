import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { clock, failOften, limiterWith, remoteStage, rule, store, warned } from '../../../test/remote-stage.ts'
import { remoteStore } from '../../../test/remote-store.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { NoAnswer } from '../../core/no-answer.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'

beforeEach(remoteStage)

describe('the breaker', () => {
  it('opens after five failures in a row, and then the store is not asked', async () => {
    const limiter = limiterWith()
    await failOften(limiter, 4)
    expect(limiter.health.state).toBe('healthy')
    await failOften(limiter, 1)
    expect(limiter.health).toEqual({ state: 'degraded', forMs: 0, error: store.error })
    const { asked } = store
    for (let count = 0; count < 10; count++) await limiter.consume('a')
    expect(store.asked).toBe(asked)
    clock.advance(20)
    expect(limiter.health.forMs).toBe(20)
  })

  it('does not open while answers come in between', async () => {
    const limiter = limiterWith()
    for (let count = 0; count < 5; count++) {
      await failOften(limiter, 4)
      store.behaviour = 'answers'
      await limiter.consume('a')
    }
    expect(limiter.health.state).toBe('healthy')
  })

  it('takes all that failed together for one failure', async () => {
    const limiter = limiterWith()
    store.behaviour = 'fails'
    await Promise.all(Array.from({ length: 100 }, () => limiter.consume('a')))
    expect(limiter.health.state).toBe('healthy')
  })

  it('opens after a whole deadline of silence', async () => {
    const limiter = limiterWith()
    store.behaviour = 'silent'
    const first = limiter.consume('a')
    await clock.run(499)
    expect(limiter.health.state).toBe('healthy')
    await clock.run(1)
    await first
    expect(limiter.health.state).toBe('degraded')
  })

  it.each([
    ['the store', new LimiterError('STORE_FAILED', 'gone', { cause: new NoAnswer('no answer within 500 ms') })],
    ['its client', Object.assign(new Error('timed out'), { name: 'TimeoutError' })],
  ])('opens at once when %s has waited for nothing', async (_, error) => {
    const limiter = limiterWith()
    store.error = error
    await failOften(limiter, 1)
    expect(limiter.health).toMatchObject({ state: 'degraded', error })
  })

  it('does not open when the store is silent to one and answers others', async () => {
    const limiter = limiterWith()
    store.behaviour = 'silent'
    const first = limiter.consume('a')
    store.behaviour = 'answers'
    await clock.run(250)
    await limiter.consume('b')
    await clock.run(250)
    expect((await first).decidedBy).toBe('fallback')
    expect(limiter.health.state).toBe('healthy')
  })

  it('says once, and at once, when the store does not let us in', async () => {
    store.error = new LimiterError('STORE_DENIED', 'wrong password')
    const [one, other] = [limiterWith(), limiterWith({ name: 'other', onStoreFailure: 'throw' })]
    await failOften(one, 1)
    expect(warned.mock.calls).toEqual([
      ['sluice: wrong password; onStoreFailure decides until the store answers (npx sluice explain STORE_DENIED)'],
    ])
    await failOften(one, 4)
    expect(one.health.state).toBe('degraded')
    await expect(other.consume('a')).rejects.toMatchObject({
      code: 'STORE_DENIED',
      message: 'the store has failed for 0 ms (wrong password). It was not asked, and nothing was counted',
      cause: store.error,
    })
    await clock.run(10_000)
    expect(warned).toHaveBeenCalledTimes(1)
    store.behaviour = 'answers'
    await clock.run(3_000)
    await failOften(one, 5)
    expect(warned).toHaveBeenCalledTimes(2)
  })

  it('logs the new reason when a probe finds that the store denies access', async () => {
    const limiter = limiterWith()
    const told: unknown[] = []
    const end = limiter.on('degraded', ({ error }) => told.push(error))
    await failOften(limiter, 5)
    const down = store.error
    const denial = new LimiterError('STORE_DENIED', 'wrong password')
    store.error = denial
    await clock.run(10_000)
    expect(told).toEqual([down, denial])
    expect(limiter.health.error).toBe(denial)
    expect(warned).not.toHaveBeenCalled()
    end()
    await limiter.close()
  })

  it('warns of what the store knows about its silence', async () => {
    store.trouble = () => new LimiterError('STORE_DENIED', 'wrong password')
    const limiter = limiterWith()
    store.behaviour = 'silent'
    const first = limiter.consume('a')
    await clock.run(500)
    await first
    expect(limiter.health).toMatchObject({ state: 'degraded', error: { code: 'STORE_DENIED' } })
    expect(warned.mock.calls).toEqual([
      [expect.stringMatching(/^sluice: wrong password; .* \(npx sluice explain STORE_DENIED\)$/)],
    ])
  })

  it('does not open when the store denies one thing and does others', async () => {
    const limiter = limiterWith()
    for (let count = 0; count < 10; count++) {
      store.behaviour = 'answers'
      await limiter.consume('a')
      store.behaviour = 'fails'
      store.error = new LimiterError('STORE_DENIED', 'no DEL')
      expect((await limiter.reset('a')).decidedBy).toBe('fallback')
    }
    expect(limiter.health.state).toBe('healthy')
    expect(warned).toHaveBeenCalledTimes(1)
    // What was denied is tried once more when the store answers, and not again.
    store.behaviour = 'answers'
    const { asked } = store
    for (let count = 0; count < 5; count++) await limiter.consume('a')
    expect(store.asked).toBeLessThanOrEqual(asked + 6)
  })

  it('warns that decisions are made without the store, without a listener', async () => {
    await failOften(limiterWith(), 10)
    expect(warned.mock.calls).toEqual([
      ['sluice: gone; onStoreFailure decides until the store answers (npx sluice explain STORE_DEGRADED)'],
    ])
  })

  it('does not open because of one key', async () => {
    store.error = new LimiterError('FOREIGN_KEY', 'something else is there')
    const limiter = limiterWith()
    await failOften(limiter, 20)
    expect(limiter.health.state).toBe('healthy')
  })

  it('belongs to the store: all limiters on it leave it alone, and others do not', async () => {
    const one = limiterWith()
    const other = limiterWith({ name: 'other' })
    const elsewhere = createLimiter({ name: 'api', rule, store: remoteStore(), clock })
    await failOften(one)
    expect([one, other, elsewhere].map(({ health }) => health.state)).toEqual(['degraded', 'degraded', 'healthy'])
  })

  it('is probed by any limiter, also by one that has decided nothing', async () => {
    const idle = limiterWith({ name: 'idle' })
    await failOften(limiterWith({ name: 'busy' }))
    store.behaviour = 'answers'
    await clock.run(200)
    expect(idle.health.state).toBe('healthy')
  })

  it('does not keep a limiter that nothing else refers to', async () => {
    const limiter = limiterWith()
    vi.spyOn(WeakRef.prototype, 'deref').mockReturnValue(undefined)
    await failOften(limiter)
    vi.restoreAllMocks()
    expect(limiter.health.state).toBe('healthy')
    expect(clock.pendingTimers).toBe(0)
  })

  it('prints a value that is not an error as it is', async () => {
    store.error = 'a text'
    await failOften(limiterWith())
    expect(warned.mock.calls[0]?.[0]).toContain('sluice: a text; onStoreFailure decides')
    await expect(limiterWith({ name: 'other', onStoreFailure: 'throw' }).consume('a')).rejects.toThrow('(a text)')
  })

  it('lets all limiters write back what failed, also beside one whose clock is wrong', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const limiter = createLimiter({ name: 'api', rule, store, instances: 1 })
    const wrong = limiterWith({ name: 'wrong', clock: { nowMs: () => Number.NaN } })
    await failOften(limiter, 1)
    store.behaviour = 'answers'
    await limiter.consume('b')
    await clock.run(0)
    expect((await limiter.peek('a')).remaining).toBe(9)
    await expect(wrong.consume('a')).rejects.toMatchObject({ code: 'INVALID_TIME' })
    await Promise.all([limiter.close(), wrong.close()])
    expect(unhandled).toEqual([])
  })

  it('tells its listeners, and only them', async () => {
    const limiter = limiterWith()
    const told: unknown[] = []
    limiter.on('degraded', ({ error }) => told.push(error))
    limiter.on('recovered', ({ afterMs }) => told.push(afterMs))
    await failOften(limiter)
    store.behaviour = 'answers'
    await clock.run(150)
    expect(told).toEqual([store.error, expect.any(Number)])
    expect(told[1]).toBeGreaterThanOrEqual(75)
    expect(told[1]).toBeLessThanOrEqual(125)
    expect(warned).not.toHaveBeenCalled()
  })
})
