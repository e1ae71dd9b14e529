import { expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { type DropInOptions, parseDropInOptions } from './drop-in-options.ts'
import { LimiterCache } from './limiter-cache.ts'

const cacheOf = (options: DropInOptions = {}): LimiterCache => new LimiterCache(parseDropInOptions('x()', 'x', options))

it('makes one limiter for each limit and window', () => {
  const cache = cacheOf()
  expect(cache.get(1, 1_000)).toBe(cache.get(1, 1_000))
  expect(cache.get(1, 1_000)).not.toBe(cache.get(2, 1_000))
  expect(cache.get(1, 2_000).name).toBe('x/2000')
})

it('keeps the count when the limit changes, and counts each window apart', async () => {
  const cache = cacheOf()
  await cache.get(3, 1_000).consume('ada', { cost: 2 })
  expect((await cache.get(5, 1_000).peek('ada')).remaining).toBe(3)
  expect((await cache.get(1, 1_000).peek('ada')).allowed).toBe(false)
  expect((await cache.get(3, 2_000).peek('ada')).remaining).toBe(3)
})

it('keeps a thousand limiters, those that were used last, and loses no count with the others', async () => {
  const clock = manualClock(1_000)
  const cache = cacheOf({ clock })
  const first = cache.get(1, 60_000)
  const second = cache.get(2, 60_000)
  await second.consume('ada')
  for (let limit = 3; limit <= 1_000; limit++) cache.get(limit, 60_000)
  expect(cache.get(1, 60_000)).toBe(first)
  cache.get(1_001, 60_000)
  expect(cache.get(1, 60_000)).toBe(first)
  expect(cache.get(2, 60_000)).not.toBe(second)
  expect((await cache.get(2, 60_000).peek('ada')).remaining).toBe(1)
})

it('counts without refusing, apart from the limits', async () => {
  const clock = manualClock(1_000)
  const cache = cacheOf({ clock })
  await cache.get(1, 1_000).consume('ada')
  expect([await cache.count('ada', 1_000), await cache.count('ada', 1_000), await cache.count('bob', 1_000)]).toEqual([
    1, 2, 1,
  ])
  clock.advance(1_000)
  expect(await cache.count('ada', 1_000)).toBe(1)
})

it('makes new limiters after its end, and closes only its own store', async () => {
  let ended = 0
  const watched = { ...memoryStore(), close: async () => void ended++ }
  const cache = cacheOf({ store: watched })
  const limiter = cache.get(2, 1_000)
  await limiter.consume('ada')
  await cache.close()
  await expect(limiter.consume('ada')).rejects.toMatchObject({ code: 'LIMITER_CLOSED' })
  expect(await cache.get(2, 1_000).consume('ada')).toMatchObject({ allowed: true, remaining: 0 })
  expect(ended).toBe(0)
  const own = cacheOf()
  await own.get(2, 1_000).consume('ada')
  await own.close()
  expect((await own.get(2, 1_000).peek('ada')).remaining).toBe(2)
})
