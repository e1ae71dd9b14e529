// What a user may do: some requests a minute and some tokens a day, in one decision.
import { Redis } from 'ioredis'
import { createLimiter, fixedWindow, slidingWindow } from 'sluice'
import { redisStore } from 'sluice/redis'

const { REDIS_URL, REQUESTS_PER_MINUTE = 20, TOKENS_PER_DAY = 10_000 } = process.env

// A request that may have counted is not sent again: in a budget nothing must count twice.
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
redis?.on('error', (error) => console.error(error.message))

export const limits = createLimiter({
  name: 'openai',
  tiers: {
    requests: slidingWindow({ limit: Number(REQUESTS_PER_MINUTE), window: '1m' }),
    tokens: fixedWindow({ limit: Number(TOKENS_PER_DAY), window: '1d', anchor: 'first-hit' }),
  },
  hashTag: true,
  store: redis && redisStore(redis, { prefix: 'rateLimit:' }),
})

export async function closeLimits() {
  await limits.close()
  redis?.disconnect()
}
