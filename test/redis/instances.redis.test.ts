import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { fixedWindow } from '../../src/rules/index.ts'
import { createPresence, MOST_INSTANCES } from '../../src/stores/failover/presence.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { openLimit } from '../open-limit.ts'
import { useServer } from '../servers/shared-servers.ts'

let redis: Redis
beforeAll(async () => {
  redis = new Redis((await useServer()).port)
})
afterAll(() => redis?.disconnect())

const rule = fixedWindow({ limit: 1_000, window: 60_000 })

it('instances are counted on Redis in the key that the rule of the other stores reads, and leave it', async () => {
  const clock = manualClock()
  const limiter = randomUUID()
  const limiters = [1, 2, 3].map(() => createLimiter({ name: limiter, rule, store: redisStore(redis), clock }))
  for (let second = 0; second < 3; second++) {
    await Promise.all(limiters.map((each) => each.consume('luis')))
    clock.advance(1_000)
  }
  // On the same connection: it is asked after what they have sent.
  const whole = openLimit(redisStore(redis), { limiter, tier: '', rule: createPresence() }, 5_000)
  const count = async (): Promise<number> => {
    const { remaining } = await whole.decide('', { type: 'peek', amount: 1 }, clock.nowMs())
    return MOST_INSTANCES - remaining
  }
  expect(await count()).toBe(3)
  await limiters[0]?.close()
  expect(await count()).toBe(2)
  clock.advance(30_000)
  expect(await count()).toBe(0)
})
