import type { Rule } from '../../core/rule.ts'
import type { Key } from '../../limiter/limiter.ts'
import { targetsOf } from '../../limiter/targets.ts'
import { keyText } from '../../observe/key-text.ts'
import type { Policy } from '../../policies/read-policies.ts'
import { callFailure } from '../../stores/redis/call-failure.ts'
import type { RedisShelf } from '../../stores/redis/redis-shelf.ts'
import { type RedisStore, redisStore } from '../../stores/redis/redis-store.ts'
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
    const tiers = Object.entries(limiter.rules).map(([name, rule]) => ({ name, rule }))
    const targets = targetsOf(tiers, 'tiers' in policy.options, key)
    const limits = targets.map(async ({ tier: { name, rule }, key: encoded }): Promise<InspectedLimit> => {
      const { kind, limit, parameters } = rule
      const stored = await readStoredKey(redis.client, resolveKeyName(store, policy, name, rule, encoded), rule, atMs)
      return { name, kind, limit, parameters, isShadow: limiter.shadows.includes(name), stored }
    })
    const text = keyText(key, listTierNames(policy))
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
    throw callFailure('Redis did not say what it has', cause)
  } finally {
    await limiter.close()
  }
}

/** What the key of a limit is called on the server. Only the store knows. */
function resolveKeyName(
  store: RedisStore,
  { name, options }: Policy,
  tier: string,
  rule: Rule,
  encoded: string,
): string {
  const place = { limiterName: name, tierName: 'tiers' in options ? tier : undefined, rule }
  const sharedTag = 'tiers' in options && options.sharedTag === true
  return (store.open({ ...place, sharedTag }) as RedisShelf).nameOf(encoded)
}
