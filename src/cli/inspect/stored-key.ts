import type { Cluster, Redis } from 'ioredis'
import type { Rule } from '../../core/rule.ts'
import { foreignKey } from '../../stores/redis/call-failure.ts'
import { countDebt } from './count-debt.ts'
import { decodeEntry, listLiveGrants } from './decode-entry.ts'
import type { StoredKey } from './inspection.ts'

/** Reads what Redis keeps under a name, and says what it means by the rule that has counted it. Changes nothing. */
export async function readStoredKey(
  client: Redis | Cluster,
  name: string,
  rule: Rule,
  nowMs: number,
): Promise<StoredKey> {
  const [type, bytes, ttlMs, value] = await Promise.all([
    client.type(name),
    client.memory('USAGE', name).catch(() => null),
    client.pttl(name),
    client.getBuffer(name),
  ])
  const entry = value === null ? undefined : decodeEntry(rule, value)
  if (value !== null && entry === undefined) {
    throw foreignKey('The key cannot be read', [name], `${value.length} bytes are no state of ${rule.stateName}`)
  }
  const untilMs = entry?.block?.untilMs ?? 0
  const live = entry?.holds.filter((hold) => hold.untilMs > nowMs) ?? []
  return {
    name,
    type,
    ttlMs: ttlMs >= 0 ? ttlMs : null,
    bytes,
    state: entry?.parts ?? null,
    debt: entry === undefined ? 0 : countDebt(rule, entry, nowMs),
    blockedUntilMs: untilMs > nowMs ? untilMs : null,
    holds: live.map(({ amount, takenMs, untilMs }) => ({ amount, takenMs, untilMs })),
    grants: listLiveGrants(entry, nowMs).map(({ amount, endMs }) => ({ amount, endMs })),
  }
}

/** The server's own time. */
export async function readServerTimeMs(client: Redis | Cluster): Promise<number> {
  const [seconds, microseconds] = (await client.time()) as [number | string, number | string]
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
}
