import type { Cluster, Redis } from 'ioredis'
import type { LimitKey } from '../../core/operation.ts'
import type { LiveGrants } from '../../observe/live-report.ts'
import { DEFAULT_PREFIX, redisKey } from '../../stores/redis/redis-keyspace.ts'
import { decodeEntry, listLiveGrants } from './decode-entry.ts'
import { readServerTimeMs } from './stored-key.ts'

/** The live grants of some keys on Redis, one after the other as the keys come. */
export async function readLiveGrants(
  client: Redis | Cluster,
  places: readonly LimitKey[],
): Promise<readonly LiveGrants[]> {
  const [nowMs, ...values] = await Promise.all([
    readServerTimeMs(client),
    ...places.map(({ limit, key }) => client.getBuffer(redisKey(DEFAULT_PREFIX, limit, key))),
  ])
  return places.map(({ limit: { name, rule } }, index) => {
    const value = values[index] ?? null
    const live = listLiveGrants(value === null ? undefined : decodeEntry(rule, value), nowMs)
    const lastMs = live.reduce((last, { endMs }) => Math.max(last, endMs), nowMs)
    const units = live.reduce((sum, { amount }) => sum + amount, 0)
    return { limit: name, count: live.length, units, endsAfterMs: lastMs - nowMs }
  })
}
