import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Idempotency } from '../../core/store.ts'
import type { HotBatch } from './key-order.ts'
import type { RuleTexts } from './rule-texts.ts'
import { FULL_SCRIPT } from './script-catalog.ts'
import type { Runner } from './script-runner.ts'
import { slotOf } from './slot-of.ts'
import { DecisionReply, encodeOperation } from './wire.ts'

/** The keys of one limit, as decisions over several of them need them. */
interface Keyspace {
  /** What was last seen to be left of this limit, by any key: how scarce it is. */
  lastRemaining: number
  nameOf(key: string): string
  textsOf(rule: Rule): RuleTexts
  closeBatch(): void
  holdBack(key: string): void
  answered(batch: HotBatch): void
  noteHandedOver(handedOver: number, decided: number): void
}

/** An operation, and where its key is. */
export interface Located {
  readonly operation: Operation
  readonly keyspace: Keyspace
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
  const names = located.map(nameOf)
  if (idempotency !== undefined) names.push(idempotencyName(names[0] as string, idempotency.key))
  const how = idempotency === undefined ? '1@' : `${idempotency.ttlMs}`
  const reply = await runner.run(FULL_SCRIPT, names, encodeDecisions([located], nowMs, how))
  const answers = new DecisionReply(reply, located.length, idempotency === undefined ? 1 : 0)
  const timesMs = idempotency === undefined ? located.map((_, place) => answers.timeMs(place)) : []
  return { results: readResults(answers, 0, located) as readonly LimitResult[], timesMs }
}

/** Decisions over the same rules as the full script takes them. */
export function encodeDecisions(decisions: readonly (readonly Located[])[], nowMs: number, how: string): string[] {
  const [first, ...others] = decisions as readonly [readonly Located[], ...(readonly Located[])[]]
  const args = [`${nowMs}`, how]
  for (const { keyspace, operation } of first) {
    args.push(...keyspace.textsOf(operation.rule).full, encodeOperation(operation))
  }
  for (const located of others) for (const { operation } of located) args.push(encodeOperation(operation))
  return args
}

/** The results of the operations whose answers start in the place `first`; undefined when the script has handed them over. */
export function readResults(
  answers: DecisionReply,
  first: number,
  located: readonly Located[],
): readonly LimitResult[] | undefined {
  if (answers.isHandedOver(first)) return undefined
  return located.map(({ operation }, index) => answers.result(first + index, operation.type) as LimitResult)
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
