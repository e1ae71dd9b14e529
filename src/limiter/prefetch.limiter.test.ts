import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { remoteStore } from '../../test/remote-store.ts'
import type { Decision, LimitResult } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { StoreCall } from '../core/store.ts'
import { collectMetrics } from '../observe/prometheus/index.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../rules/leaky-bucket/leaky-bucket.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { manualClock } from '../testing/manual-clock.ts'
import { createLimiter } from './create-limiter.ts'
import type { LimiterOptions, PrefetchOptions } from './options.ts'

const rule = fixedWindow({ limit: 1_000, window: 60_000 })

function limiterWith(prefetch: boolean | PrefetchOptions, store = remoteStore(), more: Partial<LimiterOptions> = {}) {
  const clock = manualClock(1_000_000)
  const limiter = createLimiter({ name: 'api', rule, store, clock, instances: 1, prefetch, ...more })
  const decide = async (count: number): Promise<string[]> => {
    const decidedBy: string[] = []
    for (let left = count; left > 0; left--) decidedBy.push((await limiter.consume('ann')).decidedBy)
    return decidedBy
  }
  return { limiter, store, clock, decide }
}

describe('prefetch', () => {
  it('decides a hot key without asking, and lets exactly the limit pass', async () => {
    const { limiter, store, decide } = limiterWith(true)
    const decidedBy = await decide(900)
    expect(decidedBy.filter((by) => by === 'prefetch').length).toBeGreaterThan(800)
    expect(store.asked).toBeLessThan(50)
    await decide(200)
    expect(await limiter.consume('ann')).toMatchObject({ allowed: false, reason: 'limit', decidedBy: 'denial-cache' })
  })

  it('is off unless it is asked for, and changes nothing on a local store', async () => {
    const { decide } = limiterWith(false)
    expect(new Set(await decide(50))).toEqual(new Set(['redis']))
    const local = createLimiter({ name: 'api', rule, store: memoryStore(), prefetch: true })
    for (let count = 0; count < 50; count++) expect((await local.consume('ann')).decidedBy).toBe('memory')
  })

  it('of a tier wins over that of the limiter, and a tier whose rule cannot is asked about', async () => {
    const store = remoteStore()
    const clock = manualClock(1_000_000)
    const tiers = { all: { rule, prefetch: { maxTime: 50 } }, slots: concurrency({ limit: 500, lease: '1m' }) }
    const limiter = createLimiter({ name: 'api', tiers, store, clock, instances: 1, prefetch: false })
    const asked: string[] = []
    const answer = store.answer
    store.answer = (call) => {
      asked.push(call.operations.map(({ limit, type }) => `${limit.name} ${type}`).join(', '))
      return answer(call)
    }
    for (let count = 0; count < 15; count++) await limiter.consume('ann')
    expect(asked[0]).toBe('all consume, slots consume')
    expect(asked.at(-1)).toBe('slots consume')
  })

  it('bridges a store that fails until the grant is over, and the failure policy decides after that', async () => {
    const { limiter, store, clock, decide } = limiterWith(true)
    await decide(14)
    store.behaviour = 'fails'
    expect((await limiter.consume('ann')).decidedBy).toBe('prefetch')
    await clock.run(1_000)
    expect((await limiter.consume('ann')).decidedBy).toBe('fallback')
    await limiter.close()
  })

  it('gives back what is left when the limiter is closed', async () => {
    const { limiter, store, decide } = limiterWith(true)
    await decide(14)
    await limiter.close()
    const again = limiterWith(false, store)
    expect((await again.limiter.peek('ann')).remaining).toBe(1_000 - 14)
  })

  it.each([
    ['comes 100 ms before its timeout, and covers few', 400],
    ['does not come', Number.POSITIVE_INFINITY],
  ])('lets a request wait for its own timeout at most where the grant that it waits for %s', async (_, answerMs) => {
    const { limiter, store, clock } = limiterWith(true)
    const { answer } = store
    store.answer = (call) => {
      const [{ type, key }] = call.operations as [Operation]
      // The store is not left alone: another key is answered.
      if (key === 'bob') return answer(call)
      // What is asked after the first grant has no answer.
      if (type === 'grant') store.behaviour = 'silent'
      return type === 'grant' && answerMs < 500 && clock.nowMs() < 1_000_100
        ? new Promise((resolve) => clock.timer(answerMs, () => resolve(given(call))))
        : new Promise(() => {})
    }
    const given = (call: StoreCall): Promise<readonly LimitResult[]> => {
      store.behaviour = 'answers'
      return answer(call)
    }
    const tookMs: number[] = []
    const consume = async (key: string): Promise<void> => {
      const startMs = clock.nowMs()
      await limiter.consume(key)
      if (key === 'ann') tookMs.push(clock.nowMs() - startMs)
    }
    let degraded = 0
    limiter.on('degraded', () => degraded++)
    for (let round = 0; round < 120; round++) {
      for (let count = 0; round < 10 && count < 10; count++) void consume('ann')
      store.behaviour = 'answers'
      void consume('bob')
      await clock.run(10)
    }
    expect(tookMs).toHaveLength(100)
    // What is asked for at all has a millisecond.
    expect(Math.max(...tookMs)).toBeLessThanOrEqual(501)
    expect(degraded).toBe(0)
    const closed = limiter.close()
    await clock.run(1_000)
    await closed
    expect(clock.pendingTimers).toBe(0)
  })

  it('drops what could not be given back: it counts as spent, and is not written later', async () => {
    const { limiter, store, clock, decide } = limiterWith(true)
    const counts = { late: 0, returned: 0 }
    limiter.on('prefetched', ({ what, units }) => {
      if (what === 'late' || what === 'returned') counts[what] += units
    })
    await decide(14)
    const types: string[] = []
    const { answer } = store
    store.answer = (call) => {
      types.push(...call.operations.map(({ type }) => type))
      return answer(call)
    }
    store.behaviour = 'fails'
    await clock.run(200)
    expect(types).toEqual(['settle'])
    expect(counts.returned).toBe(0)
    expect(counts.late).toBeGreaterThan(0)
    store.behaviour = 'answers'
    await clock.run(5_000)
    // 14 were taken, and what was left of the grant is spent.
    expect((await limiter.peek('ann')).remaining).toBe(1_000 - 14 - counts.late)
    expect(types).toEqual(['settle', 'peek'])
    await limiter.close()
    expect(types.filter((type) => type === 'settle')).toHaveLength(1)
  })

  it('gives back a grant that is under way when the limiter is closed, and what the callers that wait for it got', async () => {
    const { limiter, store, clock } = limiterWith(true)
    const types: string[] = []
    const { answer } = store
    store.answer = (call) => {
      types.push(...call.operations.map(({ type }) => type))
      return new Promise((resolve) => clock.timer(50, () => resolve(answer(call))))
    }
    const consumed = Array.from({ length: 60 }, () => limiter.consume('ann'))
    let isClosed = false
    const closed = limiter.close().then(() => {
      isClosed = true
      return types.length
    })
    await clock.run(1_000)
    expect(isClosed).toBe(true)
    // Nothing was asked after it was closed.
    expect(await closed).toBe(types.length)
    expect((await Promise.all(consumed)).every(({ allowed, decidedBy }) => allowed && decidedBy !== 'fallback')).toBe(
      true,
    )
    expect(types.filter((type) => type === 'grant').length).toBeGreaterThan(0)
    const again = limiterWith(false, store)
    store.answer = answer
    expect((await again.limiter.peek('ann')).remaining).toBe(1_000 - 60)
  })

  it('is closed within two timeouts when the store does not take back what is left', async () => {
    const { limiter, store, clock, decide } = limiterWith(true)
    await decide(14)
    store.behaviour = 'silent'
    const startMs = clock.nowMs()
    const closed = limiter.close().then(() => clock.nowMs() - startMs)
    await clock.run(5_000)
    expect(await closed).toBeLessThanOrEqual(1_000)
    expect(clock.pendingTimers).toBe(0)
  })

  it.each([
    ['answers', 2],
    ['answers after the grants are over', 130],
    ['fails now and then', -1],
  ])('counts what becomes of every unit that is granted: used, returned or late, by a store that %s', async (_, ms) => {
    const { limiter, store, clock } = limiterWith(true, remoteStore(), { onStoreFailure: 'throw' })
    const units = { calls: 0, granted: 0, returned: 0, late: 0 }
    limiter.on('prefetched', ({ what, units: count }) => {
      units[what] += count
    })
    const { answer } = store
    let calls = 0
    store.answer = async (call) => {
      if (ms < 0 && calls++ % 3 === 2) throw new Error('lost')
      const answered = await answer(call)
      return new Promise((resolve) => clock.timer(Math.max(1, ms), () => resolve(answered)))
    }
    let used = 0
    for (let round = 0; round < 60; round++) {
      for (let count = 0; round % 20 < 10 && count < 12; count++) {
        // With greater costs too, a grant may have less left than is asked for, and goes back with the request for the next one.
        const cost = 1 + (count % 4)
        const note = ({ decidedBy }: Decision): void => {
          if (decidedBy === 'prefetch') used += cost
        }
        limiter.consume('ann', { cost }).then(note, () => {})
      }
      await clock.run(10)
    }
    const closed = limiter.close()
    await clock.run(2_000)
    await closed
    expect(units.granted).toBeGreaterThan(100)
    expect(used).toBeGreaterThan(ms > 100 ? 0 : 50)
    expect(used + units.returned + units.late).toBe(units.granted)
  })

  it('is measured', async () => {
    const { limiter, clock, decide } = limiterWith(true)
    const register = new Registry()
    collectMetrics(limiter, { register })
    await decide(14)
    await clock.run(1_000)
    const lines = (await register.metrics()).split('\n').filter((line) => line.startsWith('sluice_prefetch'))
    expect(lines).toEqual([
      'sluice_prefetch_calls_total{limiter="api",tier="api"} 1',
      'sluice_prefetch_granted_total{limiter="api",tier="api"} 9',
      'sluice_prefetch_returned_total{limiter="api",tier="api"} 6',
      'sluice_prefetch_late_total{limiter="api",tier="api"} 0',
    ])
    expect(await register.metrics()).toContain('outcome="allowed",decided_by="prefetch"} 3\n')
  })

  it.each([
    ['yes', 'prefetch must be true, false or { maxTime, maxShare }, got "yes"'],
    [{ maxTime: 9 }, 'maxTime must be from 10 ms to 10 s, got 9'],
    [{ maxTime: '11s' }, 'maxTime must be from 10 ms to 10 s, got "11s"'],
    [{ maxShare: 0 }, 'maxShare must be a number above 0 and at most 0.5, got 0'],
    [{ maxShare: 0.51 }, 'maxShare must be a number above 0 and at most 0.5, got 0.51'],
    [{ maxtime: 100 }, 'prefetch has no option "maxtime", did you mean "maxTime"?'],
  ])('refuses %j', (prefetch, message) => {
    expect(() => createLimiter({ name: 'api', rule, prefetch: prefetch as never })).toThrow(message)
  })

  it.each([
    [concurrency({ limit: 1, lease: '1m' }), 'concurrency'],
    [leakyBucket({ capacity: 5, leak: 5, period: '1s', mode: 'shape' }), 'leaky-bucket with mode: shape'],
  ])('refuses a rule whose requests depend on each other', (one, kind) => {
    const message = `prefetch does not work with this rule, ${kind}: its requests depend on each other. Remove prefetch`
    expect(() => createLimiter({ name: 'api', rule: one, prefetch: true })).toThrow(message)
    const tiers = { user: rule, slots: { rule: one, prefetch: true } }
    expect(() => createLimiter({ name: 'api', tiers })).toThrow(message)
    // What is said of all tiers is for those that can.
    createLimiter({ name: 'api', tiers: { user: rule, slots: one }, prefetch: true })
  })
})
