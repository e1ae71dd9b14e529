import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import type { Decision } from '../core/decision.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../rules/leaky-bucket/leaky-bucket.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'

const perSecond = tokenBucket({ capacity: 1, refill: 1, period: 1_000 })

describe('wait', () => {
  it('lets callers of a key pass in their order and exactly when the rule says, and leaves nothing behind', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock })
    const passed: [string, number][] = []
    for (const name of ['first', 'second', 'third']) {
      void limiter.wait('luis').then((decision) => decision.allowed && passed.push([name, clock.nowMs()]))
    }
    await clock.run(5_000)
    expect(passed).toEqual([
      ['first', 0],
      ['second', 1_000],
      ['third', 2_000],
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('listens once to a signal that many wait by, of any limiter, and not at all when none does', async () => {
    const warn = vi.spyOn(process, 'emitWarning')
    const clock = manualClock()
    const limiters = ['api', 'mail'].map((name) => createLimiter({ name, rule: perSecond, clock }))
    const leaving = new AbortController()
    const { signal } = leaving
    const ends: string[] = []
    for (let caller = 0; caller < 30; caller++) {
      void limiters[caller % 2]?.wait('luis', { signal }).then(
        () => ends.push('passed'),
        (error: Error) => ends.push(error.message),
      )
    }
    await clock.run(2_000)
    expect([ends, getEventListeners(signal, 'abort').length]).toEqual([Array(6).fill('passed'), 1])
    leaving.abort(new Error('closing'))
    await clock.run(0)
    expect(ends.slice(6)).toEqual(Array(24).fill('closing'))
    expect([getEventListeners(signal, 'abort').length, clock.pendingTimers]).toEqual([0, 0])

    const calm = new AbortController()
    for (const limiter of limiters) void limiter.wait('ann', { signal: calm.signal })
    await clock.run(0)
    expect(getEventListeners(calm.signal, 'abort')).toEqual([])
    expect(warn).not.toHaveBeenCalled()
  })

  it('refuses at once what cannot pass in time, with a value', async () => {
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock: manualClock() })
    await limiter.consume('luis')
    expect(await limiter.wait('luis', { maxWait: 999 })).toMatchObject({ allowed: false, retryAfterMs: 1_000 })
    expect(await limiter.wait('luis', { cost: 2 })).toMatchObject({ reason: 'cost-exceeds-limit' })
  })

  it.each<[string, (limiter: ReturnType<typeof createLimiter>) => Promise<unknown>]>([
    ['given back', (limiter) => limiter.refund('luis')],
    ['reset', (limiter) => limiter.reset('luis')],
  ])('goes on at once when something of the key is %s', async (_, change) => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock })
    await limiter.consume('luis')
    const waiting = limiter.wait('luis')
    await clock.run(300)
    await change(limiter)
    await clock.run(0)
    expect([(await waiting).allowed, clock.nowMs()]).toEqual([true, 300])
  })

  it('refuses who has been admitted with a delay when the key, or one tier of it, is blocked meanwhile', async () => {
    const clock = manualClock()
    const shape = leakyBucket({ capacity: 4, leak: 10, period: 1_000, mode: 'shape' })
    const day = fixedWindow({ limit: 100, window: 86_400_000 })
    const watching = { rule: fixedWindow({ limit: 1, window: 1_000 }), shadow: true }
    const limiters = [
      createLimiter({ name: 'one', rule: shape, clock }),
      createLimiter({ name: 'tiers', tiers: { shape, day, watching }, clock }),
    ]
    const told: string[] = []
    for (const limiter of limiters) {
      const wait = async (maxWaitMs: number) => {
        const { allowed, reason, retryAfterMs } = await limiter.wait('luis', { maxWait: maxWaitMs })
        told.push(`${clock.nowMs()}: ${limiter.name} ${allowed ? 'passes' : `${reason} ${retryAfterMs}`}`)
      }
      void wait(100)
      void wait(100)
      void wait(9_000)
    }
    await clock.run(50)
    await Promise.all(limiters.map((limiter) => limiter.block('luis', 1_000)))
    await clock.run(10_000)
    expect(told).toEqual([
      '0: one passes',
      '0: tiers passes',
      '100: one blocked 950',
      '100: tiers blocked 950',
      '1050: one passes',
      '1050: tiers passes',
    ])
    expect(clock.pendingTimers).toBe(0)
  })

  it('runs nothing for a key that was blocked while it sat out the delay, and releases its permit', async () => {
    const clock = manualClock()
    const shape = leakyBucket({ capacity: 4, leak: 10, period: 1_000, mode: 'shape' })
    const places = concurrency({ limit: 1, lease: 60_000 })
    const limiter = createLimiter({ name: 'tiers', tiers: { shape, places }, clock })
    await limiter.consume({ shape: 'luis' })
    const scheduled = limiter.schedule('luis', () => 'ran', { maxWait: 200 })
    await clock.run(50)
    await limiter.block({ shape: 'luis' }, 1_000)
    await clock.run(500)
    expect(await scheduled).toMatchObject({ ran: false, decision: { reason: 'blocked' } })
    expect(await limiter.peek({ places: 'luis' })).toMatchObject({ remaining: 1 })
  })

  it('is not hindered by a block of a tier in shadow mode', async () => {
    const clock = manualClock()
    const shape = leakyBucket({ capacity: 4, leak: 10, period: 1_000, mode: 'shape' })
    const watching = { rule: fixedWindow({ limit: 1, window: 1_000 }), shadow: true }
    const limiter = createLimiter({ name: 'tiers', tiers: { shape, watching }, clock })
    await limiter.consume('luis')
    const waiting = limiter.wait('luis')
    await limiter.block({ watching: 'luis' }, 60_000)
    await clock.run(100)
    expect(await waiting).toMatchObject({ allowed: true })
  })

  it('goes on at once when a hold is settled or a block is ended', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock })
    const hold = await limiter.reserve('luis', { estimate: 1 })
    const waiting = limiter.wait('luis')
    await clock.run(1)
    await hold.cancel()
    expect((await waiting).allowed).toBe(true)
    await limiter.block('other', 60_000)
    const blocked = limiter.wait('other')
    await clock.run(1)
    await limiter.unblock('other')
    expect((await blocked).allowed).toBe(true)
  })

  it('refunds what was taken when it is aborted in its delay, and rejects with the reason', async () => {
    const rule = leakyBucket({ capacity: 10, leak: 1, period: 1_000, mode: 'shape' })
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule, clock })
    await limiter.wait('luis')
    const leaving = new AbortController()
    const waiting = limiter.wait('luis', { signal: leaving.signal })
    await clock.run(10)
    const before = (await limiter.peek('luis')).remaining
    leaving.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    await clock.run(0)
    expect((await limiter.peek('luis')).remaining).toBe(before + 1)
  })

  it('refunds the 1 of a tier that its cost does not name, when it is aborted in its delay', async () => {
    const clock = manualClock()
    const out = leakyBucket({ capacity: 10, leak: 1, period: 1_000, mode: 'shape' })
    const limiter = createLimiter({
      name: 'api',
      tiers: { out, day: fixedWindow({ limit: 9, window: 60_000 }) },
      clock,
    })
    await limiter.wait('luis', { cost: { out: 2 } })
    const leaving = new AbortController()
    const waiting = limiter.wait('luis', { cost: { out: 2 }, signal: leaving.signal })
    await clock.run(10)
    leaving.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    await clock.run(0)
    expect((await limiter.peek('luis')).tiers).toMatchObject({ out: { remaining: 8 }, day: { remaining: 8 } })
  })

  it('goes on at once when something of one of its tiers is refunded by another key', async () => {
    const clock = manualClock()
    const tiers = { user: fixedWindow({ limit: 9, window: 60_000 }), all: perSecond }
    const limiter = createLimiter({ name: 'api', tiers, clock })
    await limiter.consume({ user: 'ana', all: 'x' })
    const waiting = limiter.wait({ user: 'luis', all: 'x' })
    const other = limiter.wait({ user: 'eva', all: 'y' })
    await clock.run(300)
    await limiter.refund({ user: 'ana', all: 'x' })
    await clock.run(0)
    expect([(await waiting).allowed, (await other).allowed, clock.nowMs()]).toEqual([true, true, 300])
  })

  it('ends when the limiter is closed', async () => {
    const clock = manualClock()
    const tiers = { places: concurrency({ limit: 1, lease: 60_000 }), starts: perSecond }
    const limiter = createLimiter({ name: 'api', tiers, clock })
    await limiter.acquire('luis', { heartbeat: false })
    const waiting = [limiter.wait('luis'), limiter.wait('luis'), limiter.schedule('ana', () => 1)]
    const late = limiter.schedule('luis', () => 1)
    await clock.run(10)
    await limiter.close()
    const [first, second, ran] = await Promise.allSettled(waiting)
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'LIMITER_CLOSED' } })
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'LIMITER_CLOSED' } })
    expect(ran).toMatchObject({ status: 'fulfilled' })
    await expect(late).rejects.toThrow('closed')
    expect(clock.pendingTimers).toBe(0)
  })

  it('does not punish the caller that waits', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock, blockFor: 60_000 })
    await limiter.wait('luis')
    const waiting = limiter.wait('luis')
    await clock.run(1_000)
    expect((await waiting).allowed).toBe(true)
  })

  it('tells listeners once, of what came of it', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock })
    const seen: Decision[] = []
    limiter.on('decided', ({ decision }) => seen.push(decision))
    await limiter.consume('luis')
    const waiting = limiter.wait('luis')
    await clock.run(1_000)
    expect(seen).toEqual([expect.objectContaining({ allowed: true }), await waiting])
  })

  it('refuses one more than may wait, says so, and takes nothing', async () => {
    const clock = manualClock()
    const limiter = createLimiter({ name: 'api', rule: perSecond, clock, maxQueue: 2 })
    await limiter.consume('luis')
    const waiting = [limiter.wait('luis'), limiter.wait('luis')]
    await clock.run(1)
    expect(await limiter.wait('luis')).toMatchObject({ allowed: false, reason: 'queue-full', limitedBy: 'api' })
    expect((await limiter.wait('other')).allowed).toBe(true)
    await clock.run(2_000)
    expect((await Promise.all(waiting)).every((decision) => decision.allowed)).toBe(true)
  })

  it('spreads the callers of several processes evenly by a rule that shapes', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const rule = leakyBucket({ capacity: 20, leak: 10, period: 1_000, mode: 'shape' })
    const processes = [0, 1, 2].map(() => createLimiter({ name: 'api', rule, store, clock }))
    const times: number[] = []
    for (let count = 0; count < 12; count++) {
      void processes[count % 3]?.wait('luis').then(() => times.push(clock.nowMs()))
    }
    await clock.run(5_000)
    expect(times).toEqual(Array.from({ length: 12 }, (_, index) => index * 100))
  })
})

it.each<[unknown, string]>([
  [{ maxWait: -1 }, 'maxWait must be at least 0 ms, got -1'],
  [
    { maxWait: Number.NaN },
    "maxWait must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got NaN",
  ],
  [{ signal: {} }, 'signal must be an AbortSignal, got an object'],
  [{ maxWaitMs: 5 }, 'wait() has no option "maxWaitMs", did you mean "maxWait"?'],
  [{ cost: 0 }, 'cost must be a whole number of at least 1, got 0'],
])('wait refuses %o', async (options, message) => {
  const limiter = createLimiter({ name: 'api', rule: perSecond })
  await expect(limiter.wait('luis', options as never)).rejects.toThrow(message)
})
