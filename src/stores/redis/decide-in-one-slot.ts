import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Idempotency } from '../../core/store.ts'
import type { RedisKeyspace } from './redis-keyspace.ts'
import { getScript } from './script-catalog.ts'
import type { Runner } from './script-runner.ts'
import { slotOf } from './slot-of.ts'
import { decodeResult, encodeOperation, NUMBERS, readNumbers } from './wire.ts'

/** An operation, and where its key is. */
export interface Located {
  readonly operation: Operation
  readonly keyspace: RedisKeyspace
}

/** What one run of the script says of each operation, and by its key's own time when that was decided. */
export interface Decided {
  readonly results: readonly LimitResult[]
  readonly timesMs: readonly number[]
}

/** Decides over several keys by one run of one script. */
export async function decideInOneSlot(
  runner: Runner,
  located: readonly Located[],
  nowMs: number,
  idempotency?: Idempotency,
): Promise<Decided> {
  const keys = located.map(nameOf)
  const args = [`${nowMs}`, `${idempotency?.ttlMs ?? 0}`]
  for (const one of located) args.push(...ruleTextsOf(one), operationTextOf(one))
  const names = idempotency === undefined ? keys : [...keys, idempotencyName(keys[0] as string, idempotency.key)]
  const reply = await runner.run(getScript('tiers'), names, args)
  const numbers = readNumbers(reply, located.length * NUMBERS_WITH_TIME)
  return { results: resultsIn(numbers, 0, located), timesMs: numbers.slice(located.length * NUMBERS) }
}

/** What the script answers for each operation: its result's numbers, and after those of all operations the time of its decision. */
export const NUMBERS_WITH_TIME: number = NUMBERS + 1

/** The results of operations whose numbers start at `first`. */
export function resultsIn(numbers: readonly number[], first: number, located: readonly Located[]): LimitResult[] {
  return located.map(({ keyspace, operation }, index) => {
    const result = decodeResult(numbers, first + index * NUMBERS, operation)
    keyspace.lastRemaining = result.remaining
    return result
  })
}

/** An operation's rule as the script takes it. */
export function ruleTextsOf({ keyspace, operation: { rule } }: Located): readonly string[] {
  const { required, optional } = keyspace.textsOf(rule)
  return [rule.kind, ...required, ...optional]
}

/** An operation as the script takes it. */
export function operationTextOf({ operation }: Located): string {
  const { rulesVary, shadow } = operation.limit
  const text = encodeOperation(operation)
  return rulesVary || shadow ? `${rulesVary ? 'changing:' : ''}${shadow ? 'shadow:' : ''}${text}` : text
}

/** What the key of an operation is called on the server. */
export function nameOf({ keyspace, operation }: Located): string {
  return keyspace.nameOf(operation.key)
}

/** A key beside `key`, in the same slot of a Cluster: its slot is that of the whole key, or of the tag in it. */
export function idempotencyName(key: string, id: string): string {
  const whole = `{${key}}${id}`
  return slotOf(whole) === slotOf(key) ? whole : `${key}${id}`
}
