import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type RemoteStore, remoteStore } from '../../../test/remote-store.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { type ManualClock, manualClock } from '../../testing/manual-clock.ts'
import { createLimiter } from '../create-limiter.ts'
import type { Limiter } from '../limiter.ts'

let store: RemoteStore
let clock: ManualClock
beforeEach(() => {
  store = remoteStore()
  clock = manualClock(1_000_000)
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => vi.restoreAllMocks())

const rule = fixedWindow({ limit: 10, windowMs: 60_000 })
const limiterOn = (): Limiter => createLimiter({ name: 'api', rule, store, clock, instances: 1 })

describe('closing a limiter', () => {
  it('waits for what is under way', async () => {
    const limiter = limiterOn()
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
    const limiter = limiterOn()
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
    const limiter = limiterOn()
    store.behaviour = 'fails'
    while (limiter.health.state === 'healthy') await limiter.consume('a')
    await limiter.close()
    expect(clock.pendingTimers).toBe(0)
    await expect(limiter.consume('a')).rejects.toMatchObject({ code: 'LIMITER_CLOSED' })
  })

  it('says first what is still owed', async () => {
    const limiter = limiterOn()
    store.behaviour = 'fails'
    await limiter.consume('a', { cost: 3 })
    store.behaviour = 'answers'
    await limiter.close()
    expect((await limiterOn().peek('a')).remaining).toBe(7)
  })

  it('lets a hold be settled afterwards', async () => {
    const limiter = limiterOn()
    const hold = await limiter.reserve('a', { estimate: 5 })
    await limiter.close()
    await hold.settle(2)
    expect((await limiterOn().peek('a')).remaining).toBe(8)
    expect(clock.pendingTimers).toBe(0)
  })

  it('may be done twice, and with a store of its own', async () => {
    const limiter = createLimiter({ name: 'api', rule })
    expect(limiter.health).toEqual({ state: 'healthy', forMs: 0, error: undefined })
    await limiter.close()
    await limiter.close()
  })
})
