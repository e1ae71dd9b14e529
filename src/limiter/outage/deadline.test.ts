import { beforeEach, describe, expect, it, vi } from 'vitest'
import { type RemoteStore, remoteStore } from '../../../test/remote-store.ts'
import { fixedWindow } from '../../rules/fixed-window/fixed-window.ts'
import { type ManualClock, manualClock } from '../../testing/manual-clock.ts'
import { createLimiter, type LimiterOptions } from '../create-limiter.ts'
import type { Limiter } from '../limiter.ts'
import { Deadlines } from './deadlines.ts'

let store: RemoteStore
let clock: ManualClock
beforeEach(() => {
  store = remoteStore()
  clock = manualClock(1_000_000)
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})

const rule = fixedWindow({ limit: 10, windowMs: 60_000 })

function limiterWith(options: Partial<LimiterOptions> = {}): Limiter {
  return createLimiter({ name: 'api', rule, store, clock, instances: 1, ...options })
}

const asks: readonly [string, (limiter: Limiter) => Promise<unknown>][] = [
  ['consume', (limiter) => limiter.consume('a')],
  ['consume with an id', (limiter) => limiter.consume('a', { id: 'x' })],
  ['peek', (limiter) => limiter.peek('a')],
  ['charge', (limiter) => limiter.charge('a')],
  ['giveBack', (limiter) => limiter.giveBack('a')],
  ['reserve', (limiter) => limiter.reserve('a', { estimate: 2 })],
  ['wait', (limiter) => limiter.wait('a')],
  ['block', (limiter) => limiter.block('a', 5)],
  ['unblock', (limiter) => limiter.unblock('a')],
  ['reset', (limiter) => limiter.reset('a')],
]

describe('no answer', () => {
  it.each(asks)('to %s is waited for until the deadline, and no longer', async (_, ask) => {
    const limiter = limiterWith({ deadlineMs: 300 })
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
      message: 'the store gave no answer within 500 ms, the deadline',
    })
  })

  it('of tiers is bounded as a whole, whatever the store does for it', async () => {
    const limiter = createLimiter({ name: 'api', tiers: { one: rule, other: rule }, store, clock, instances: 1 })
    store.behaviour = 'silent'
    const consumed = limiter.consume({ one: 'a', other: 'b' })
    await clock.run(500)
    expect((await consumed).decidedBy).toBe('fallback')
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
    const limiter = limiterWith({ deadlineMs: 300 })
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

  it('that have come while the process was busy are read before anything is given up', async () => {
    const deadlines = new Deadlines(20, undefined)
    const waiting = { dueMs: 0, isOver: false, expire: vi.fn() }
    deadlines.add(waiting)
    // What is due as long as the deadline stands for what lies in the socket: it is read in the same turn of the loop.
    const busyUntilMs = performance.now() + 40
    const read = new Promise<void>((resolve) => {
      setTimeout(() => {
        setImmediate(() => {})
        queueMicrotask(() => {
          deadlines.end(waiting)
          resolve()
        })
      }, 21)
    })
    while (performance.now() < busyUntilMs);
    await read
    await deadlines.idle()
    expect(waiting.expire).not.toHaveBeenCalled()
  })
})

describe('a real deadline', () => {
  it('is kept', async () => {
    store.behaviour = 'silent'
    const limiter = createLimiter({ name: 'api', rule, store, deadlineMs: 30, instances: 1 })
    const startedMs = performance.now()
    const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.consume('a')))
    const tookMs = performance.now() - startedMs
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10)
    expect(tookMs).toBeGreaterThanOrEqual(30)
    await limiter.close()
  })

  it('keeps the process alive while somebody waits: nobody waits in vain', async () => {
    const deadlines = new Deadlines(10, undefined)
    const waiting = { dueMs: 0, isOver: false, expire: vi.fn() }
    deadlines.add(waiting)
    await deadlines.idle()
    expect(waiting.expire).toHaveBeenCalledOnce()
    expect(deadlines.end(waiting)).toBe(false)
  })
})
