import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TierResult } from '../../src/core/decision.ts'
import type { Store } from '../../src/core/store.ts'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { runs } from '../effort.ts'
import { mapStore } from '../map-store.ts'
import { patient } from '../patient.ts'
import { starts } from '../schedules.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import { kinds } from '../tier-twin.ts'

// What a peek of one more says right after a decision.

let server: Address
let redis: Redis
let count = 0
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  await redis.quit()
})

const tiers = fc.array(fc.oneof(...kinds), { minLength: 1, maxLength: 3 })
const turn = fc.record({
  isHeld: fc.boolean(),
  costs: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 3, maxLength: 3 }),
  waitMs: fc.oneof(fc.constantFrom(0, 1, 249, 250, 999, -1, -999), fc.nat(1_500)),
})
const turns = fc.array(turn, { minLength: 1, maxLength: 15, size: 'max' })

it.each<[string, () => Store]>([
  ['in memory', memoryStore],
  ['by the frame', mapStore],
  ['on Redis', () => redisStore(redis)],
])('each tier that lets pass says when more passes %s, also when another refuses', async (_, createStore) => {
  const property = fc.asyncProperty(tiers, turns, starts, async (rules, turnList, startMs) => {
    const clock = manualClock(startMs)
    const named = Object.fromEntries(rules.map((rule, index) => [`tier ${index}`, rule]))
    const limiter = createLimiter({ name: `next ${count++}`, tiers: named, store: createStore(), clock, ...patient })
    for (const { isHeld, costs, waitMs } of turnList) {
      clock.set(clock.nowMs() + waitMs)
      const amounts = Object.fromEntries(rules.map((_, index) => [`tier ${index}`, costs[index]]))
      const decision = isHeld
        ? (await limiter.reserve('key', { estimate: amounts, expiresIn: 700 })).decision
        : await limiter.consume('key', { cost: amounts })
      for (const [name, { allowed, remaining, limit, nextAfterMs }] of Object.entries(decision.tiers as Verdicts)) {
        const more = await limiter.peek({ [name]: 'key' }, { cost: remaining + 1 })
        expect(nextAfterMs).toBe(!allowed ? undefined : remaining < limit ? more.retryAfterMs : 0)
      }
    }
  })
  await fc.assert(property, { numRuns: runs('twin') })
})

type Verdicts = Readonly<Record<string, TierResult>>
