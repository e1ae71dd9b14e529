import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Rule } from '../../src/core/rule.ts'
import type { Store } from '../../src/core/store.ts'
import { memoryStore } from '../../src/stores/memory/memory-store.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { runs } from '../effort.ts'
import { mapStore } from '../map-store.ts'
import { starts, steps, waits } from '../schedules.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'
import {
  askTiers,
  calls,
  openTiers,
  type RandomCall,
  type RandomTier,
  tiers,
  traceOf,
  waitAfter,
  withoutGrants,
} from '../tier-twin.ts'

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

async function expectTwins(
  memory: Store,
  tierList: readonly RandomTier[],
  callList: readonly RandomCall[],
  startMs: number,
  limiters = [tierList],
): Promise<void> {
  const name = `twins ${count++}`
  const onRedis = redisStore(redis)
  const opened = limiters.map((list) => ({
    list,
    memory: openTiers(memory, name, list),
    redis: openTiers(onRedis, name, list),
  }))
  let nowMs = startMs
  const trace: string[] = []
  for (const call of callList) {
    const asked = opened[(call.asked[0]?.rule ?? 0) % opened.length] as (typeof opened)[number]
    const expected = await askTiers(memory, asked.memory, asked.list, call, nowMs)
    const seen = await askTiers(onRedis, asked.redis, asked.list, call, nowMs)
    trace.push(traceOf(asked.list, call, nowMs))
    if (!isDeepStrictEqual(seen, expected)) expect(seen, trace.join('\n')).toEqual(expected)
    nowMs = Math.max(0, nowMs + waitAfter(call.wait, expected))
  }
}

describe.each([
  ['of rules that stay', false],
  ['of rules that change between calls', true],
])('tiers %s, with holds, ids and blocks,', (_, changes) => {
  const someTiers = tiers(fc.constant(changes))

  it('are decided on Redis as in memory on random schedules', async () => {
    const property = fc.asyncProperty(someTiers, calls(waits), starts, (tierList, callList, startMs) =>
      expectTwins(memoryStore(), tierList, callList, startMs),
    )
    await fc.assert(property, { numRuns: runs('twin') })
  })

  it('are decided on Redis as by the frame whatever the clock does', async () => {
    const property = fc.asyncProperty(someTiers, calls(fc.oneof(waits, steps)), starts, (tierList, callList, startMs) =>
      expectTwins(mapStore(), tierList, callList, startMs),
    )
    await fc.assert(property, { numRuns: runs('twin') })
  })
})

describe('limiters of one name that disagree about the numbers of their rules', () => {
  const limitersOf = (tierList: readonly RandomTier[]): RandomTier[][] =>
    [0, 1, 2].map((index) => tierList.map((tier) => ({ ...tier, rules: [tier.rules[index] as Rule] })))

  it('are decided on Redis as in memory on random schedules', async () => {
    // What other numbers make of a grant that is long over depends on whether it was forgotten. The frame below forgets nothing.
    const property = fc.asyncProperty(tiers(fc.constant(false)), calls(waits), starts, (tierList, callList, startMs) =>
      expectTwins(memoryStore(), tierList, callList.map(withoutGrants), startMs, limitersOf(tierList)),
    )
    await fc.assert(property, { numRuns: runs('twin') })
  })

  it('are decided on Redis as by the frame whatever the clock does', async () => {
    const wait = fc.oneof(waits, steps)
    const property = fc.asyncProperty(tiers(fc.constant(false)), calls(wait), starts, (tierList, callList, startMs) =>
      expectTwins(mapStore(), tierList, callList, startMs, limitersOf(tierList)),
    )
    await fc.assert(property, { numRuns: runs('twin') })
  })
})
