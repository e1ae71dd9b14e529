import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLimiter } from '../../src/limiter/create-limiter.ts'
import type { Limiter } from '../../src/limiter/limiter.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { slidingWindow } from '../../src/rules/sliding-window/sliding-window.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import type { Address } from '../servers/ask.ts'
import { useServer } from '../servers/shared-servers.ts'

// What one process has reserved, another one ends: nothing but the token passes between them.

let server: Address
let one: Redis
let other: Redis
beforeAll(async () => {
  server = await useServer()
  one = new Redis(server.port, server.host)
  other = new Redis(server.port, server.host)
})
afterAll(async () => {
  await one.quit()
  await other.quit()
})

const rule = fixedWindow({ limit: 10_000, window: 86_400_000 })
const limiterOn = (redis: Redis): Limiter => createLimiter({ name: 'tokens', rule, store: redisStore(redis) })

it('a hold is settled on another connection, and exactly once', async () => {
  const { token } = await limiterOn(one).reserve('user:1', { estimate: 4_000 })
  const endings = Array.from({ length: 8 }, (_, index) => {
    return limiterOn(index % 2 === 0 ? one : other)
      .resumeReservation(token as string)
      .settle(812)
  })
  const answers = await Promise.all(endings)
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(1)
  expect(answers.filter(({ reason }) => reason === 'reservation-ended')).toHaveLength(7)
  expect((await limiterOn(one).peek('user:1')).remaining).toBe(9_188)
})

it('a hold over tiers is cancelled on another connection', async () => {
  const tiers = { requests: slidingWindow({ limit: 3, window: 60_000 }), tokens: rule }
  const limiters = [one, other].map((redis) => createLimiter({ name: 'model', tiers, store: redisStore(redis) }))
  const hold = await limiters[0]?.reserve({ requests: 'luis', tokens: 'team' }, { estimate: { tokens: 500 } })
  expect(await limiters[1]?.resumeReservation(hold?.token as string).cancel()).toMatchObject({
    allowed: true,
    tiers: { requests: { remaining: 3 }, tokens: { remaining: 10_000 } },
  })
})
