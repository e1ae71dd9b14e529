import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { byCallersClock, calls, expectTwins, limits, starts } from '../limiter-twin.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})

it.each([
  ['of one rule', 1],
  ['of two tiers', 2],
])('with its denial cache on, a limiter %s decides on Redis as in memory', { timeout: 120_000 }, async (_, count) => {
  const compared = { decisions: 0, known: 0 }
  let run = 0
  await fc.assert(
    fc.asyncProperty(limits, limits, calls, starts, async (user, ip, callList, startMs) => {
      const limits = count === 1 ? { user } : { user, ip }
      const name = `cached ${count} ${run++}`
      await expectTwins({ store: redisStore(redis), name, limits, ...byCallersClock(startMs) }, callList, compared)
    }),
    { numRuns: runs('twin') },
  )
  expect(compared.known / compared.decisions).toBeGreaterThan(0.02)
})
