import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { STORE_TIME } from '../../src/core/clock.ts'
import type { Rule } from '../../src/core/rule.ts'
import { fixedWindow, slidingWindow, tokenBucket } from '../../src/rules/index.ts'
import { redisStore } from '../../src/stores/redis/redis-store.ts'
import { openLimit } from '../open-limit.ts'
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

const HOUR = 3_600_000
const DAY = 24 * HOUR
const rules: readonly (readonly [string, (spanMs: number) => Rule])[] = [
  ['fixed window', (windowMs) => fixedWindow({ limit: 9, window: windowMs })],
  ['sliding window', (windowMs) => slidingWindow({ limit: 9, window: windowMs })],
  ['token bucket', (periodMs) => tokenBucket({ capacity: 9, refill: 9, period: periodMs })],
]

it.each(rules)('a key lives as long as the numbers say that counted it last: %s', async (_, make) => {
  await redis.flushall()
  const store = redisStore(redis)
  const open = (spanMs: number) => openLimit(store, { limiter: 'a', rule: make(spanMs) })
  const ttl = async () => redis.pttl((await redis.keys('*'))[0] as string)
  const take = (spanMs: number) => open(spanMs).decide('key', { type: 'consume', amount: 9 }, STORE_TIME)
  const look = (spanMs: number) => open(spanMs).decide('key', { type: 'peek', amount: 1 }, STORE_TIME)
  await take(HOUR)
  const { resetAfterMs } = await look(365 * DAY)
  // Slower, and so by the time of the hour until something is counted.
  expect(resetAfterMs).toBeLessThanOrEqual(2 * HOUR)
  expect(await ttl()).toBeLessThanOrEqual(2 * HOUR)
  await open(365 * DAY).decide('key', { type: 'charge', amount: 1 }, STORE_TIME)
  expect(await ttl()).toBeGreaterThan(2 * HOUR)
  // Sooner: a refusal keeps that.
  const refused = await take(1_000)
  expect(refused).toMatchObject({ allowed: false, remaining: 0 })
  expect(refused.retryAfterMs).toBeLessThanOrEqual(3_000)
  expect(await ttl()).toBeLessThanOrEqual(3_000)
})
