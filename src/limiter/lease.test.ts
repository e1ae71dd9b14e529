import { describe, expect, it } from 'vitest'
import { failingStore } from '../../test/failing-store.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const rule = concurrency({ limit: 2, lease: 3_000 })

describe('a lease', () => {
  it('holds a permit until it is released, and renews itself meanwhile', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'exports', rule, clock })
    const lease = await limiter.acquire('luis')
    expect(lease).toMatchObject({ allowed: true, decision: { remaining: 1 } })
    await clock.run(60_000)
    expect((await limiter.peek('luis')).remaining).toBe(1)
    expect(lease.signal.aborted).toBe(false)
    expect((await lease.release()).remaining).toBe(2)
    expect(clock.pendingTimers).toBe(0)
    expect(await lease.release()).toMatchObject({ allowed: false, reason: 'reservation-ended', remaining: 2 })
    expect(await lease.renew()).toBe(lease.decision)
  })

  it('without a heartbeat ends after leaseMs, and says so when it is renewed too late', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'exports', rule, clock })
    const lease = await limiter.acquire('luis', { heartbeat: false })
    expect(clock.pendingTimers).toBe(0)
    clock.advance(2_999)
    expect((await lease.renew()).allowed).toBe(true)
    clock.advance(3_000)
    expect((await limiter.peek('luis')).remaining).toBe(2)
    expect(await lease.renew()).toMatchObject({ allowed: false, reason: 'reservation-ended' })
    expect(lease.signal.reason).toMatchObject({
      code: 'LEASE_LOST',
      message: 'the lease expired before it was renewed. End the work: another caller may have the permit',
    })
    await using _ = lease
  })

  it('that cannot be renewed is not given, and takes no permit', async () => {
    const clock = {
      nowMs: () => 0,
      timer: () => {
        throw new Error('no timers here')
      },
    }
    const limiter = createLimiter({ name: 'exports', rule, clock })
    await expect(limiter.acquire('luis')).rejects.toThrow('no timers here')
    expect((await limiter.peek('luis')).remaining).toBe(2)
  })

  it('ends with the block that it was acquired in', async () => {
    const limiter = createLimiter({ name: 'exports', rule, clock: manualClock() })
    {
      await using lease = await limiter.acquire('luis', { cost: 2 })
      expect(lease.decision.remaining).toBe(0)
      await using refused = await limiter.acquire('luis')
      expect(refused.allowed).toBe(false)
      expect(await refused.release()).toBe(refused.decision)
      expect(await refused.renew()).toBe(refused.decision)
    }
    expect((await limiter.peek('luis')).remaining).toBe(2)
  })

  it('is lost when the process slept for too long, and its release does not free the place of another', async () => {
    const time = manualClock()
    const timers = manualClock()
    const clock = { nowMs: time.nowMs, timer: timers.timer }
    const limiter = createLimiter({ name: 'exports', rule: concurrency({ limit: 1, lease: 3_000 }), clock })
    const sleeper = await limiter.acquire('luis')
    time.advance(10_000)
    const next = await limiter.acquire('luis', { heartbeat: false })
    await timers.run(1_000)
    expect([next.allowed, sleeper.signal.aborted, timers.pendingTimers]).toEqual([true, true, 0])
    await sleeper.release()
    expect((await limiter.peek('luis')).remaining).toBe(0)
  })

  it('goes on renewing after the store has failed', async () => {
    const store = failingStore()
    const clock = manualClock()
    const limiter = createLimiter({ name: 'exports', rule, store, clock })
    const lease = await limiter.acquire('luis')
    store.fails = true
    await clock.run(1_500)
    store.fails = false
    await clock.run(10_000)
    expect([(await limiter.peek('luis')).remaining, lease.signal.aborted]).toEqual([1, false])
    await lease.release()
  })

  it('is not lost when it is released while a renewal is under way', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'exports', rule, clock })
    const lease = await limiter.acquire('luis', { heartbeat: false })
    const [released, renewed] = await Promise.all([lease.release(), lease.renew()])
    expect([released.allowed, renewed, lease.signal.aborted]).toEqual([true, lease.decision, false])
    const second = await limiter.acquire('luis', { heartbeat: false })
    const renewing = second.renew()
    await second.release()
    await renewing
    expect(second.signal.aborted).toBe(false)
  })

  it('is lost when its permit was refunded', async () => {
    const limiter = createLimiter({ name: 'exports', rule, clock: manualClock() })
    const lease = await limiter.acquire('luis', { heartbeat: false })
    await limiter.refund('luis')
    expect(await lease.renew()).toMatchObject({ allowed: false, reason: 'reservation-ended', remaining: 2 })
  })

  it('takes the cost of other tiers for good, and blocks whom a tier blocks', async () => {
    const tiers = { places: rule, starts: { rule: fixedWindow({ limit: 1, window: 60_000 }), blockFor: 90_000 } }
    const limiter = createLimiter({ name: 'exports', tiers, clock: manualClock() })
    const lease = await limiter.acquire('luis')
    await lease.release()
    expect((await limiter.peek('luis')).tiers).toMatchObject({ places: { remaining: 2 }, starts: { remaining: 0 } })
    expect((await limiter.acquire('luis')).decision).toMatchObject({ limitedBy: 'starts', retryAfterMs: 90_000 })
  })
})

it.each<[unknown, string]>([
  [{ heartbeat: 'yes' }, 'heartbeat must be true or false, got "yes"'],
  [{ cost: 0 }, 'cost must be a whole number of at least 1, got 0'],
  [{ leaseMs: 5 }, 'acquire() has no option "leaseMs": it takes cost, heartbeat'],
])('acquire refuses %o', async (options, message) => {
  const limiter = createLimiter({ name: 'exports', rule })
  await expect(limiter.acquire('luis', options as never)).rejects.toThrow(message)
})
