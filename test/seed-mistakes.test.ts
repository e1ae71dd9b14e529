import { describe, expect, it } from 'vitest'
import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  leakyBucket,
  memoryStore,
  type Rule,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../src/index.ts'
import { type ManualClock, manualClock } from '../src/testing/index.ts'

// The requests for Sluice came with scripts, and each of these is a mistake in one of them. The numbers are theirs.

function limit(
  rule: Rule,
  startMs = 0,
): { clock: ManualClock; limiter: Limiter; consume(cost?: number): Promise<Decision> } {
  const clock = manualClock(startMs)
  const limiter = createLimiter({ name: 'seed', rule, clock })
  return { clock, limiter, consume: (cost = 1) => limiter.consume('client', { cost }) }
}

describe('windows shorter than a second', () => {
  it.each([250, 750, 1])('a window of %d ms is counted and ends', async (windowMs) => {
    for (const rule of [
      fixedWindow({ limit: 2, windowMs }),
      slidingWindow({ limit: 2, windowMs }),
      slidingLog({ limit: 2, windowMs }),
    ]) {
      const store = memoryStore()
      const clock = manualClock(1_000_000)
      const limiter = createLimiter({ name: 'seed', rule, store, clock })
      await limiter.consume('client', { cost: 2 })
      const refused = await limiter.consume('client')
      expect(refused.allowed).toBe(false)
      expect(refused.resetAfterMs).toBeLessThanOrEqual(2 * windowMs)
      clock.advance(refused.retryAfterMs)
      expect((await limiter.consume('client')).allowed).toBe(true)
      clock.advance(2 * windowMs)
      await limiter.consume('somebody else')
      expect(store.stats().keys).toBe(1)
    }
  })
})

it('says when the next request passes after 10 of 10 at the edge of a window', async () => {
  const { clock, consume } = limit(slidingWindow({ limit: 10, windowMs: 1_000 }), 1_000_999)
  await consume(10)
  expect((await consume()).retryAfterMs).toBe(101)
  clock.set(1_001_099)
  expect((await consume()).allowed).toBe(false)
  clock.set(1_001_100)
  expect((await consume()).allowed).toBe(true)
})

it('keeps all of a subject under one key that no input can steer', async () => {
  const store = memoryStore()
  const limiter = createLimiter({
    name: 'seed',
    rule: slidingWindow({ limit: 5, windowMs: 1_000 }),
    store,
    clock: manualClock(999),
  })
  await limiter.consume('{slot}client')
  expect(store.stats().keys).toBe(1)
})

it('counts requests of the same millisecond each, in a log too', async () => {
  const { consume } = limit(slidingLog({ limit: 1_000, windowMs: 60_000 }), 1_000)
  for (let request = 1; request <= 1_000; request++) expect((await consume()).remaining).toBe(1_000 - request)
  expect((await consume()).allowed).toBe(false)
})

it('tells a cost that is greater than the capacity that it never passes', async () => {
  const { consume } = limit(tokenBucket({ capacity: 5, refill: 1, periodMs: 1_000 }))
  expect(await consume(10)).toMatchObject({ allowed: false, retryAfterMs: Infinity, reason: 'cost-exceeds-limit' })
  expect((await consume(5)).allowed).toBe(true)
})

it('does not drain a bucket when the clock steps back, and does not make its client wait for it', async () => {
  const { clock, consume } = limit(tokenBucket({ capacity: 5, refill: 1, periodMs: 1_000 }), 1_000_000)
  await consume(4)
  clock.set(1_000_000 - 97_000)
  expect(await consume()).toMatchObject({ allowed: true, remaining: 0 })
  expect(await consume()).toMatchObject({ allowed: false, retryAfterMs: 1_000 })
})

it('mints nothing by a negative cost', async () => {
  const { limiter, consume } = limit(tokenBucket({ capacity: 5, refill: 1, periodMs: 1_000 }))
  await expect(consume(-100)).rejects.toThrow('cost must be a whole number of at least 1, got -100')
  expect((await limiter.peek('client')).remaining).toBe(5)
})

it('keeps the fraction of a leak: six requests in five seconds when polled every 100 ms at one a second', async () => {
  const { clock, consume } = limit(leakyBucket({ capacity: 1, leak: 1, periodMs: 1_000 }))
  let admitted = 0
  for (let poll = 0; poll <= 50; poll++) {
    if ((await consume()).allowed) admitted++
    clock.advance(100)
  }
  expect(admitted).toBe(6)
})

it('blocks nobody for ever after a give-back: a window ends whatever happened in it', async () => {
  const { clock, limiter, consume } = limit(fixedWindow({ limit: 1, windowMs: 1_000, anchor: 'first-hit' }))
  await limiter.giveBack('client')
  await consume()
  await limiter.giveBack('client', 5)
  await consume()
  expect(await consume()).toMatchObject({ allowed: false, retryAfterMs: 1_000 })
  clock.advance(1_000)
  expect((await consume()).allowed).toBe(true)
})
