import { findPrimaries } from '../redis/primaries.ts'
import type { ConnectedRedis } from '../redis/redis-url.ts'

/** Removes every key that starts with `prefix`, a few at a time so that no other client waits. */
export async function removeKeys(redis: ConnectedRedis, prefix: string): Promise<void> {
  for (const { client } of findPrimaries(redis)) {
    let cursor = '0'
    do {
      const [next, keys] = await client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1_000)
      cursor = next
      // One command each: on a Cluster they lie in different slots.
      await Promise.all(keys.map((key) => client.unlink(key)))
    } while (cursor !== '0')
  }
}
