import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { isRequestBound } from '../src/core/request-bound.ts'
import type { Timed } from '../src/core/timeouts.ts'
import { Timeouts } from '../src/core/timeouts.ts'
import { createLimiter } from '../src/limiter/create-limiter.ts'
import { fixedWindow } from '../src/rules/fixed-window/fixed-window.ts'
import { joinBreaker } from '../src/stores/failover/circuit-breaker.ts'
import { memoryStore } from '../src/stores/memory/memory-store.ts'
import { manualClock } from '../src/testing/manual-clock.ts'

// In Cloudflare's Workers a timer ends with the request that started it. Here a request that has ended is a timer that never rings.

beforeEach(() => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  return () => vi.unstubAllGlobals()
})

const rule = fixedWindow({ limit: 1, window: 1_000 })

it('knows Workers by their name', () => {
  expect(isRequestBound()).toBe(true)
  vi.stubGlobal('navigator', undefined)
  expect(isRequestBound()).toBe(false)
})

it('wait: a caller whose request has ended holds up no other', async () => {
  const clock = manualClock(0)
  let isEnded = false
  const timer = (afterMs: number, ring: () => void) => (isEnded ? () => {} : clock.timer(afterMs, ring))
  const limiter = createLimiter({ name: 'api', rule, clock: { ...clock, timer } })
  await limiter.consume('ann')
  isEnded = true
  void limiter.wait('ann')
  await clock.run(0)
  isEnded = false
  const turn = limiter.wait('ann', { maxWait: '2s' })
  await clock.run(1_000)
  expect((await turn).allowed).toBe(true)
})

it('wait: a caller who loses its turn to another tries again, and no queue is ever full', async () => {
  const clock = manualClock(0)
  const limiter = createLimiter({ name: 'api', rule, clock, maxQueue: 1 })
  const turns = [1, 2, 3].map(() => limiter.wait('ann', { maxWait: '5s' }))
  await clock.run(2_000)
  expect((await Promise.all(turns)).map(({ allowed }) => allowed)).toEqual([true, true, true])
})

it('a call has a timeout of its own', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const timeouts = new Timeouts(100, undefined)
  const expired: string[] = []
  const open = (name: string): Timed => ({ dueMs: 0, isOver: false, expire: () => void expired.push(name) })
  const [ended, answered, late] = [open('ended'), open('answered'), open('late')] as const
  timeouts.add(ended)
  // Its request has ended.
  vi.clearAllTimers()
  timeouts.add(answered)
  timeouts.add(late)
  expect(timeouts.end(answered)).toBe(true)
  await vi.advanceTimersByTimeAsync(101)
  expect(expired).toEqual(['late'])
  expect(vi.getTimerCount()).toBe(0)
})

it('the circuit breaker stays closed: its probe would end with the request', () => {
  const breaker = joinBreaker(memoryStore(), undefined)
  const leave = breaker.join({
    isHeard: true,
    degraded: () => {},
    recovered: () => {},
    answered: () => {},
    probe: async () => {},
  })
  for (let time = 0; time < 10; time++) breaker.failed(new Error('refused'), breaker)
  expect(breaker.isOpen).toBe(false)
  leave()
})

it('resolveRule is called again while another request waits for it', async () => {
  let calls = 0
  const resolveRule = () => new Promise<typeof rule>((resolve) => (++calls > 1 ? resolve(rule) : undefined))
  const limiter = createLimiter({ name: 'api', rule, clock: manualClock(0), resolveRule })
  void limiter.consume('ann')
  expect((await limiter.consume('ann')).allowed).toBe(true)
  expect(calls).toBe(2)
})
