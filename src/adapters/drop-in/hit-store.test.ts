import { describe, expect, it } from 'vitest'
import { failingStore } from '../../../test/failing-store.ts'
import { systemClock } from '../../core/clock.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { slidingWindow } from '../../rules/index.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import type { DropInOptions } from './drop-in-options.ts'
import { HitStore } from './hit-store.ts'

const storeOf = (options: DropInOptions = {}): HitStore => new HitStore('x()', 'x', options)

describe('a wrong limit makes init throw, and every call after it:', () => {
  it.each<[string, DropInOptions, unknown, string]>([
    ['no number', {}, { limit: '100', windowMs: 1_000 }, 'limit must be a whole number of at least 1, got "100"'],
    ['no window', {}, { limit: 1, windowMs: 0 }, 'window must be from 1 ms to 10 years (3653d), got 0'],
    [
      'a rule of another limit',
      { rule: () => slidingWindow({ limit: 5, window: 1_000 }) },
      { limit: 10, windowMs: 1_000 },
      'rule must return a rule of the limit that it is given, 10, got one of 5',
    ],
    [
      'a rule for a limit that is not known yet',
      { rule: (limit, windowMs) => slidingWindow({ limit, window: windowMs }) },
      { limit: () => 5, windowMs: 1_000 },
      'limit must be a number with the option rule: a store cannot see what a function returns, got a function',
    ],
  ])('%s', async (_, options, init, message) => {
    const store = storeOf(options)
    const error = new LimiterError('INVALID_OPTION', message)
    expect(() => store.init(init as never)).toThrow(error)
    for (const call of [store.increment('a'), store.decrement('a'), store.get('a'), store.resetKey('a')]) {
      await expect(call).rejects.toThrow(error)
    }
    await store.shutdown()
  })

  it('none yet', async () => {
    const error = new LimiterError('INVALID_OPTION', 'x() has no limit yet: x must call init() first')
    await expect(storeOf().increment('a')).rejects.toThrow(error)
  })

  it('two of them', async () => {
    const store = storeOf()
    store.init({ limit: 1, windowMs: 1_000 })
    store.init({ limit: 1, windowMs: 1_000 })
    await store.increment('a')
    const message = 'a store takes one limit, x/1/1000, got another, x/1000/1000. Make a store for each'
    const error = new LimiterError('INVALID_OPTION', message)
    expect(() => store.init({ limit: 1_000, windowMs: 1_000 })).toThrow(error)
    await expect(store.increment('a')).rejects.toThrow(error)
  })
})

it('tells the library which counts can be reached by others, and by which name', () => {
  const own = storeOf()
  const shared = storeOf({ store: memoryStore(), name: 'login' })
  own.init({ limit: 5, windowMs: 1_000 })
  shared.init({ limit: () => 5, windowMs: 1_000 })
  expect([own.localKeys, own.prefix, shared.localKeys, shared.prefix]).toEqual([
    true,
    'x/5/1000',
    false,
    'login/any/1000',
  ])
})

it('counts stores of one name together only where limit and window are the same', async () => {
  const store = memoryStore()
  const [one, same, other] = [5, 5, 6].map((limit) => {
    const made = storeOf({ store })
    made.init({ limit, windowMs: 60_000 })
    return made
  })
  await one?.increment('a')
  expect([await same?.increment('a'), await other?.increment('a')]).toMatchObject([{ totalHits: 2 }, { totalHits: 1 }])
})

it('reports dates of the machine, also with another clock', async () => {
  const clock = manualClock(5)
  const store = storeOf({ clock })
  store.init({ limit: 1, windowMs: 60_000 })
  const inMs = async (told: Promise<{ resetTime: { getTime(): number } } | undefined>): Promise<number> =>
    Math.round(((await told)?.resetTime.getTime() ?? 0) / 10_000 - systemClock.nowMs() / 10_000) * 10_000
  expect(await inMs(store.increment('a'))).toBe(60_000)
  clock.advance(20_000)
  expect(await inMs(store.increment('a'))).toBe(40_000)
  expect(await inMs(store.get('a'))).toBe(40_000)
})

it('says when the store fails, and has counted nothing', async () => {
  const failing = failingStore()
  const store = storeOf({ store: failing })
  store.init({ limit: 2, windowMs: 60_000, skipFailedRequests: true })
  failing.fails = true
  await expect(store.increment('a')).rejects.toThrow('gone')
  failing.fails = false
  expect(await store.get('a')).toBeUndefined()
})

it('says that it cannot forget all keys where the store cannot', async () => {
  const store = storeOf({ store: { ...memoryStore(), clear: undefined } as never })
  store.init({ limit: 2, windowMs: 60_000 })
  const message = 'resetAll() needs a store with clear(), and this store has none'
  await expect(store.resetAll()).rejects.toThrow(new LimiterError('INVALID_ARGUMENT', message))
})

it('counts nothing after its end, and ends only a store of its own', async () => {
  let ended = 0
  const shared = { ...memoryStore(), close: async () => void ended++ }
  for (const store of [storeOf(), storeOf({ store: shared })]) {
    store.init({ limit: 2, windowMs: 60_000 })
    await store.shutdown()
    await expect(store.increment('a')).rejects.toMatchObject({ code: 'LIMITER_CLOSED' })
  }
  expect(ended).toBe(0)
})
