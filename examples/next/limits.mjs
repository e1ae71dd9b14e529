// The limits of all routes, made once.
import { Redis } from 'ioredis'
import { createLimiter, slidingWindow } from 'sluice'
import { redisStore } from 'sluice/redis'

const { REDIS_URL } = process.env

// A request that may have counted is not sent again: nothing must count twice.
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
redis?.on('error', (error) => console.error(error.message))
const store = redis && redisStore(redis)

const perMinute = (limit) => slidingWindow({ limit, window: '1m' })
export const visitors = createLimiter({ name: 'visitors', rule: perMinute(5), store })
export const users = createLimiter({ name: 'users', rule: perMinute(3), store })

export async function closeLimits() {
  for (const limiter of [visitors, users]) await limiter.close()
  redis?.disconnect()
}
