import { expect, it, vi } from 'vitest'
import type { LimitResult } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Store } from '../../core/store.ts'
import { slidingWindow } from '../../rules/index.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import { throttlerStorage } from './throttler-storage.ts'

it('reports whole seconds, rounded up, and restarts at 1 after a block', async () => {
  const clock = manualClock(0)
  const storage = throttlerStorage({ clock })
  const hit = () => storage.increment('key', 10_000, 2, 2_500, 'default')
  expect(await hit()).toEqual({ totalHits: 1, timeToExpire: 10, isBlocked: false, timeToBlockExpire: 0 })
  clock.advance(1)
  expect(await hit()).toEqual({ totalHits: 2, timeToExpire: 10, isBlocked: false, timeToBlockExpire: 0 })
  expect(await hit()).toEqual({ totalHits: 3, timeToExpire: 3, isBlocked: true, timeToBlockExpire: 3 })
  clock.advance(2_000)
  expect(await hit()).toEqual({ totalHits: 3, timeToExpire: 1, isBlocked: true, timeToBlockExpire: 1 })
  clock.advance(500)
  expect(await hit()).toEqual({ totalHits: 1, timeToExpire: 10, isBlocked: false, timeToBlockExpire: 0 })
})

it.each([0, -1])('refuses until the rule has room with a blockDuration of %d', async (blockDuration) => {
  const clock = manualClock(0)
  const storage = throttlerStorage({ clock })
  const hit = () => storage.increment('key', 10_000, 1, blockDuration, 'default')
  await hit()
  clock.advance(9_400)
  expect(await hit()).toEqual({ totalHits: 2, timeToExpire: 1, isBlocked: true, timeToBlockExpire: 1 })
  clock.advance(600)
  expect(await hit()).toEqual({ totalHits: 1, timeToExpire: 10, isBlocked: false, timeToBlockExpire: 0 })
})

it('restarts at 1 after a block also when more was counted than the limit is now', async () => {
  const clock = manualClock(0)
  const storage = throttlerStorage({ clock })
  for (let hit = 0; hit < 50; hit++) await storage.increment('key', 60_000, 50, 1_000, 'default')
  expect((await storage.increment('key', 60_000, 5, 1_000, 'default')).isBlocked).toBe(true)
  clock.advance(1_000)
  expect(await storage.increment('key', 60_000, 5, 1_000, 'default')).toMatchObject({ totalHits: 1, isBlocked: false })
})

it('forgets nothing that was counted after a block, however late the call to forget comes', async () => {
  const clock = manualClock(0)
  const memory = memoryStore()
  const late: (() => void)[] = []
  const store: Store = {
    ...memory,
    decide(call, reply) {
      if (call.operations[0]?.type !== 'refund') return memory.decide(call, reply)
      late.push(() => reply.done(memory.decide(call, reply) as readonly LimitResult[]))
      return undefined
    },
  }
  const storage = throttlerStorage({ clock, store })
  const hit = async (): Promise<boolean> => !(await storage.increment('key', 60_000, 3, 5, 'default')).isBlocked
  const hits = (count: number): Promise<boolean[]> => Promise.all(Array.from({ length: count }, hit))
  expect(await hits(3)).toEqual([true, true, true])
  const refused = hits(2)
  await vi.waitUntil(() => late.length > 0)
  late.shift()?.()
  const hitAfterBlock = (): Promise<boolean> => {
    clock.advance(5)
    return hit()
  }
  await expect.poll(hitAfterBlock).toBe(true)
  expect(await hits(2)).toEqual([true, true])
  for (const forget of late.splice(0)) forget()
  expect(await refused).toEqual([false, false])
  void hit()
  await vi.waitUntil(() => late.length === 1)
})

it.each([
  [0, 60],
  [1_500, 2],
])('lets nothing pass at a limit of 0, with a blockDuration of %d', async (blockDuration, timeToBlockExpire) => {
  const record = await throttlerStorage().increment('key', 60_000, 0, blockDuration, 'default')
  expect(record).toEqual({ totalHits: 1, timeToExpire: 60, isBlocked: true, timeToBlockExpire })
})

it('tells at the first request, and not at the first refusal, what is wrong', async () => {
  const storage = throttlerStorage()
  await expect(storage.increment('key', 1_000, 1, Number.POSITIVE_INFINITY, 'default')).rejects.toThrow(
    new LimiterError('INVALID_OPTION', 'blockDuration must be a whole number from 1 to 315619200000, got Infinity'),
  )
  await expect(storage.increment('key', 1_000, Number.NaN, 0, 'default')).rejects.toThrow(
    new LimiterError('INVALID_OPTION', 'limit must be a whole number of at least 1, got NaN'),
  )
})

it('counts every hit for @nestjs/throttler 5, which gives no limit', async () => {
  const clock = manualClock(0)
  const storage = throttlerStorage({ clock })
  expect(await storage.increment('key', 10_000)).toEqual({
    totalHits: 1,
    timeToExpire: 10,
    isBlocked: false,
    timeToBlockExpire: 0,
  })
  clock.advance(9_001)
  expect(await storage.increment('key', 10_000)).toMatchObject({ totalHits: 2, timeToExpire: 1 })
  clock.advance(999)
  expect(await storage.increment('key', 10_000)).toMatchObject({ totalHits: 1, timeToExpire: 10 })
})

it.each([60, 3_600, 86_400])(
  'refuses a ttl of %d from @nestjs/throttler 4 and older, which means seconds',
  async (ttl) => {
    const message = 'ttl must be whole seconds in milliseconds, such as 60000, with @nestjs/throttler 5'
    await expect(throttlerStorage().increment('key', ttl)).rejects.toThrow(
      new LimiterError('INVALID_OPTION', `${message}, got ${ttl}: version 4 and older are not supported`),
    )
  },
)

it('refuses a rule of its own behind @nestjs/throttler 5', async () => {
  const storage = throttlerStorage({ rule: (limit, windowMs) => slidingWindow({ limit, window: windowMs }) })
  const message = 'rule needs @nestjs/throttler 6 or later: version 5 does not give its storage the limit'
  await expect(storage.increment('key', 60_000)).rejects.toThrow(new LimiterError('INVALID_OPTION', message))
})
