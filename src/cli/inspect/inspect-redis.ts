import { createLimit } from '../../core/limit.ts'
import type { Key } from '../../limiter/options.ts'
import { parseKey } from '../../limiter/parse-call.ts'
import { formatKey } from '../../observe/format-key.ts'
import type { Policy } from '../../policies/read-policies.ts'
import { callFailure } from '../../stores/redis/call-failure.ts'
import { DEFAULT_PREFIX, redisKey } from '../../stores/redis/redis-keyspace.ts'
import { redisStore } from '../../stores/redis/redis-store.ts'
import { createStrictLimiter, listTierNames } from '../command/strict-limiter.ts'
import type { ConnectedRedis } from '../redis/redis-url.ts'
import type { InspectedLimit, Inspection } from './inspection.ts'
import { readServerTimeMs, readStoredKey } from './stored-key.ts'

/** Which key on Redis to inspect, and with which cost. */
export interface RedisInspection {
  readonly redis: ConnectedRedis
  readonly prefix: string | undefined
  readonly policy: Policy
  readonly key: Key<string>
  readonly cost: number
}

/** Looks at a key on Redis: what is kept, and what a request would get. Takes nothing. */
export async function inspectRedis({ redis, prefix, policy, key, cost }: RedisInspection): Promise<Inspection> {
  const store = redisStore(redis.client, prefix === undefined ? {} : { prefix })
  const limiter = createStrictLimiter(policy, store)
  try {
    const decision = await limiter.peek(key, { cost })
    const atMs = await readServerTimeMs(redis.client)
    const { tiers, hashTag = false } = policy.options
    const isTiered = tiers !== undefined
    const known = Object.entries(limiter.rules).map(([name, rule]) => {
      return createLimit({ limiter: policy.name, tier: isTiered ? name : undefined, rule, hashTag })
    })
    const limits = parseKey(known, key).map(async ({ limit: of, key: encoded }): Promise<InspectedLimit> => {
      const { name, rule } = of
      const { kind, limit, parameters } = rule
      const stored = await readStoredKey(redis.client, redisKey(prefix ?? DEFAULT_PREFIX, of, encoded), rule, atMs)
      return { name, kind, limit, parameters, isShadow: limiter.shadows.includes(name), stored }
    })
    const text = formatKey(key, listTierNames(policy))
    return {
      policy: policy.name,
      key: text,
      cost,
      place: redis.place,
      atMs,
      decision,
      limits: await Promise.all(limits),
    }
  } catch (cause) {
    throw callFailure('Redis did not show the key', cause)
  } finally {
    await limiter.close()
  }
}
