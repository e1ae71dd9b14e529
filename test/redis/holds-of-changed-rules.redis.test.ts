import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Rule } from '../../src/core/rule.ts'
import type { Store } from '../../src/core/store.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { tokenBucket } from '../../src/rules/token-bucket/token-bucket.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { openLimit } from '../open-limit.ts'
import { useServer } from '../servers/shared-servers.ts'

// A hold of 3, taken under one limit and settled under another.

let redis: Redis
beforeAll(async () => {
  const server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})

const day = 86_400_000
const stores: readonly (readonly [string, () => Store])[] = [
  ['in memory', memoryStore],
  ['on Redis', () => redisStore(redis)],
]
const kinds: readonly (readonly [string, (limit: number) => Rule])[] = [
  ['fixed window', (limit) => fixedWindow({ limit, window: day })],
  ['token bucket', (limit) => tokenBucket({ capacity: limit, refill: 1, period: day })],
]

describe.each(stores)('%s', (_, createStore) => {
  describe.each(kinds)('a hold of 3 on a %s', (kind, createRule) => {
    it.each([
      [10, 100, 0, 100],
      [10, 100, 1, 90],
      [10, 100, 3, 70],
      [10, 100, 5, 68],
      [7, 100, 0, 99],
      [7, 100, 1, 85],
      [100, 10, 0, 9],
      [30, 10, 0, 10],
      [30, 10, 3, 9],
    ])('that was taken of %i, and of %i is settled with %i, leaves %i', async (before, after, used, remaining) => {
      const limiter = `${kind} ${before} ${after} ${used}`
      const limit = openLimit(createStore(), { limiter, rule: createRule(before), rulesVary: true }, 5_000)
      await limit.decide('a', { type: 'reserve', amount: 3, holdId: 7, holdMs: 1_000 }, 0)
      const settle = { type: 'settle', holdId: 7, amount: used } as const
      expect((await limit.decide('a', settle, 0, createRule(after))).remaining).toBe(remaining)
    })
  })
})
