import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { LimitResult } from '../../src/core/decision.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { type Action, openLimit } from '../open-limit.ts'
import { everyMode, ruleOf } from '../rule-registry.ts'
import { useServer } from '../servers/shared-servers.ts'

let redis: Redis
beforeAll(async () => {
  const { port, host } = await useServer()
  redis = new Redis(port, host)
})
afterAll(() => redis.quit())

const NOW_MS = 1_700_000_000_000
const HOLDS = 80

it.each(everyMode.map((mode) => [mode.title, mode] as const))(
  'tells a refused cost of %s the same time as memory, whatever of eighty holds it needs',
  async (title, mode) => {
    const rule = ruleOf(mode, { limit: 2 * HOLDS, timeMs: 10_000_000, rate: 1, parts: 10 })
    const [memory, remote] = [memoryStore(), redisStore(redis)].map((store) =>
      openLimit(store, { limiter: `many holds, ${title}`, rule }),
    )
    const both = async (action: Action, nowMs: number): Promise<void> => {
      const [expected, decided] = await Promise.all([
        memory?.decide('key', action, nowMs),
        remote?.decide('key', action, nowMs),
      ])
      expect(expected, JSON.stringify(action)).toMatchObject(decided as LimitResult)
    }
    await both({ type: 'consume', amount: HOLDS / 2 }, NOW_MS)
    for (let holdId = 1; holdId <= HOLDS; holdId++) {
      await both({ type: 'reserve', amount: 1, holdId, holdMs: 1_000 * holdId }, NOW_MS + holdId)
    }
    for (let amount = 1; amount <= 2 * HOLDS; amount++) await both({ type: 'consume', amount }, NOW_MS + 200)
  },
)
