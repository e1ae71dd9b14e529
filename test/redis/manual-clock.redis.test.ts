import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { slidingWindow } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'

let server: Address
let redis: Redis
beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port)
})
afterAll(async () => {
  redis?.disconnect()
})

const TIMES = 300
const rule = slidingWindow({ limit: 1_000, window: 60_000 })
const steps: readonly [string, number][] = [
  ['a millisecond', 1],
  ['a second', 1_000],
  ['a minute', 60_000],
  ['a day', 86_400_000],
]

/** Who made each of the decisions, on a clock that is moved on after every one of them. */
async function decidersOf(consume: () => ReturnType<Limiter['consume']>, move: () => unknown) {
  const deciders: Record<string, number> = {}
  for (let count = 0; count < TIMES; count++) {
    const { decidedBy } = await consume()
    deciders[decidedBy] = (deciders[decidedBy] ?? 0) + 1
    const moved = move()
    if (moved instanceof Promise) await moved
  }
  return deciders
}

describe.each(steps)('a clock that is moved by %s at a time', (_, stepMs) => {
  it.each(['advance', 'run'] as const)('does not keep Redis from deciding by one rule: %s', async (move) => {
    const clock = manualClock(1_700_000_000_000)
    await using limiter = createLimiter({ name: `one ${stepMs} ${move}`, rule, store: redisStore(redis), clock })
    const deciders = await decidersOf(
      () => limiter.consume('a'),
      () => clock[move](stepMs),
    )
    expect(deciders).toEqual({ redis: TIMES })
    expect(limiter.health.state).toBe('healthy')
  })

  it.each(['advance', 'run'] as const)('does not keep Redis from deciding by tiers: %s', async (move) => {
    const clock = manualClock(1_700_000_000_000)
    const tiers = { user: rule, ip: slidingWindow({ limit: 2_000, window: 60_000 }) }
    await using limiter = createLimiter({ name: `tiers ${stepMs} ${move}`, tiers, store: redisStore(redis), clock })
    const deciders = await decidersOf(
      () => limiter.consume({ user: 'a', ip: '192.0.2.1' }),
      () => clock[move](stepMs),
    )
    expect(deciders).toEqual({ redis: TIMES })
  })

  it('does not end the wait for what is under way', async () => {
    const clock = manualClock(1_700_000_000_000)
    await using limiter = createLimiter({ name: `under way ${stepMs}`, rule, store: redisStore(redis), clock })
    const deciders = await decidersOf(
      () => {
        const consumed = limiter.consume('a')
        clock.advance(stepMs)
        return consumed
      },
      () => {},
    )
    expect(deciders).toEqual({ redis: TIMES })
  })
})
