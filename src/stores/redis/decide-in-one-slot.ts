import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Idempotency } from '../../core/store.ts'
import { computeSlot } from './compute-slot.ts'
import { type EncodedKeyspace, encodeFull } from './encode-batch.ts'
import { FULL_SCRIPT } from './script-catalog.ts'
import type { Runner } from './script-runner.ts'
import { DecisionReply } from './wire.ts'

/** The keys of one limit, as decisions over several of them need them. */
export interface LocatedKeyspace extends EncodedKeyspace {
  /** What was last seen to be left of this limit, by any key: how scarce it is. */
  lastRemaining: number
}

/** An operation, and where its key is. */
export interface Located {
  readonly operation: Operation
  readonly keyspace: LocatedKeyspace
}

/** What one run of the script says of each operation, and by its key's own time when that was decided. */
export interface Decided {
  readonly results: readonly LimitResult[]
  readonly timesMs: readonly number[]
}

/** Decides over several keys by one run of the full script. */
export async function decideInOneSlot(
  runner: Runner,
  located: readonly Located[],
  nowMs: number,
  idempotency?: Idempotency,
): Promise<Decided> {
  const names = located.map(nameKey)
  const keyspaces = located.map(({ keyspace }) => keyspace)
  const operations = located.map(({ operation }) => operation)
  if (idempotency !== undefined) names.push(idempotencyName(names[0] as string, idempotency.key))
  const how = idempotency === undefined ? '1@' : `${idempotency.ttlMs}`
  const args = encodeFull(keyspaces, nowMs, [operations], how)
  for (;;) {
    const reply = await runner.run(FULL_SCRIPT, names, args)
    const extra = idempotency === undefined ? 1 : 0
    const answers = new DecisionReply(reply, located.length, extra, (place) => (operations[place] as Operation).type)
    const results = answers.results(0, operations)
    // The script was busy with many reservations of a key, and has done a part of that.
    if (results === undefined) continue
    return { results, timesMs: idempotency === undefined ? located.map((_, place) => answers.timeMs(place)) : [] }
  }
}

/** What operations are decided by, as failures say it: the rule where there is only one. */
export function describeRules(operations: readonly Operation[]): string {
  return operations.length === 1 ? (operations[0] as Operation).rule.kind : 'tiers'
}

/** What the key of an operation is called on the server. */
export function nameKey({ keyspace, operation }: Located): string {
  return keyspace.nameKey(operation.key)
}

/** A key beside `key`, in the same slot of a Cluster: its slot is that of the whole key, or of the tag in it. */
export function idempotencyName(key: string, id: string): string {
  const whole = `{${key}}${id}`
  return computeSlot(whole) === computeSlot(key) ? whole : `${key}${id}`
}
