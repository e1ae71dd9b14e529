import { expect, type Mock, vi } from 'vitest'
import { LimiterError } from '../src/core/limiter-error.ts'
import type { Rule } from '../src/core/rule.ts'
import { createLimiter } from '../src/limiter/create-limiter.ts'
import type { Limiter } from '../src/limiter/limiter.ts'
import type { LimiterOptions } from '../src/limiter/options.ts'
import { fixedWindow } from '../src/rules/fixed-window/fixed-window.ts'
import { type ManualClock, manualClock } from '../src/testing/manual-clock.ts'
import { type RemoteStore, remoteStore } from './remote-store.ts'

/** The store of this test. */
export let store: RemoteStore
/** The clock of this test. */
export let clock: ManualClock
/** What was said on the console in this test. */
export const warned: Mock = vi.fn()

/** The default rule of limiters: ten a minute. */
export const rule: Rule = fixedWindow({ limit: 10, window: 60_000 })

/** A store that answers, a clock that stands still and a silent console for each test: `beforeEach(remoteStage)`. */
export function remoteStage(): () => void {
  store = remoteStore()
  clock = manualClock(1_000_000)
  warned.mockReset()
  vi.spyOn(console, 'warn').mockImplementation(warned)
  return () => void vi.restoreAllMocks()
}

/** A limiter of one instance on this store, unless the options say otherwise. */
export function limiterWith(options: Partial<LimiterOptions> = {}): Limiter {
  return createLimiter({ name: 'api', rule, store, clock, instances: 1, ...options })
}

/** Lets the store fail this many decisions. */
export async function failOften(limiter: Limiter, times = 5): Promise<void> {
  store.behaviour = 'fails'
  for (let count = 0; count < times; count++) await limiter.consume('a')
}

/** Lets the store fail until it is not asked any more. */
export async function lose(limiter: Limiter): Promise<void> {
  store.behaviour = 'fails'
  while (limiter.health.state === 'healthy') await limiter.peek('unused')
}

/** Lets the store answer until it is asked again, and everything has been said to it. */
export async function find(limiter: Limiter): Promise<void> {
  store.behaviour = 'answers'
  await clock.run(3_000)
  expect(limiter.health.state).toBe('healthy')
}

/** What the store itself has left for a key. */
export async function remaining(key: string, by: Rule = rule): Promise<number> {
  return (await limiterWith({ rule: by }).peek(key)).remaining
}

/** Lets the store deny whatever has an idempotency key. */
export function takeNoIds(): void {
  const { answer } = store
  store.answer = (call) =>
    call.idempotency === undefined ? answer(call) : Promise.reject(new LimiterError('STORE_DENIED', 'no ids'))
}
