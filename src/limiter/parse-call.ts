import { describeUnknownTier, invalidOption, wholeNumber } from '../core/check.ts'
import { encodeSubject, type Subject } from '../core/key.ts'
import type { Limit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { createOperation, type LimitKey, type Operation, type OperationType } from '../core/operation.ts'
import { text } from '../core/read-options.ts'
import type { Idempotency } from '../core/store.ts'

/** As much of a limit as it takes to tell it from others. */
export type NamedLimit = Pick<Limit, 'name' | 'tier'>

/** A subject of a limit, and its encoded form. */
export interface KeyOf<Of> {
  readonly limit: Of
  readonly subject: Subject
  readonly key: string
}

/** The keys that a call is about, one for each limit that its key names. */
export function parseKey<Of extends NamedLimit>(limits: readonly Of[], key: unknown): readonly KeyOf<Of>[] {
  if (limits[0]?.tier === undefined || isSubject(key)) {
    const subject = key as Subject
    const encoded = encodeSubject(subject)
    return limits.map((limit) => ({ limit, subject, key: encoded }))
  }
  if (typeof key !== 'object' || key === null) {
    throw invalidOption('key', 'a non-empty string, { kind, name } or keys by tier', key, 'INVALID_KEY')
  }
  assertTiers(limits, key, 'INVALID_KEY', 'key')
  const subjects = key as Readonly<Record<string, Subject | undefined>>
  const keys: KeyOf<Of>[] = []
  for (const limit of limits) {
    const subject = subjects[limit.name]
    if (subject !== undefined) keys.push({ limit, subject, key: encodeSubject(subject) })
  }
  if (keys.length > 0) return keys
  throw new LimiterError('INVALID_KEY', `key must name at least one tier of ${listNames(limits).join(', ')}`)
}

/** The key that names these limits and no other, whatever tiers come later. */
export function composeKey(keys: readonly LimitKey[]): unknown {
  if (keys[0]?.limit.tier === undefined) return keys[0]?.subject
  return Object.fromEntries(keys.map(({ limit, subject }) => [limit.name, subject]))
}

/** What an amount by tier leaves for tiers that it does not name. */
export interface AmountRule {
  readonly what: string
  readonly least: number
  /** Absent: tiers that are not named take no part. */
  readonly otherwise?: number
}

/** The cost of a request. */
export const COST: AmountRule = { what: 'cost', least: 1, otherwise: 1 }

/** The cost that a peek asks about. */
export const PEEKED_COST: AmountRule = { ...COST, least: 0 }

/** An amount to charge or to refund. */
export const AMOUNT: AmountRule = { what: 'amount', least: 1 }

/** Each key's amount, `undefined` where it takes no part. */
export function parseAmounts(
  limits: readonly NamedLimit[],
  keys: readonly KeyOf<NamedLimit>[],
  given: unknown,
  { what, least, otherwise }: AmountRule,
): readonly (number | undefined)[] {
  const check = (name: string, value: unknown): number => wholeNumber(name, value, least, undefined, 'INVALID_ARGUMENT')
  if (typeof given !== 'object' || given === null) {
    const amount = check(what, given)
    return keys.map(() => amount)
  }
  assertTiers(limits, given, 'INVALID_ARGUMENT', what)
  const amounts = given as Readonly<Record<string, unknown>>
  for (const [name, amount] of Object.entries(amounts)) if (amount !== undefined) check(`${what}.${name}`, amount)
  return keys.map(({ limit }) => (amounts[limit.name] as number | undefined) ?? otherwise)
}

/** How to make the operation of one key with an amount. */
export type CreateOperation = (key: LimitKey, amount: number) => Operation

/** An operation for each key that an amount speaks of. */
export function parseOperations(
  limits: readonly Limit[],
  keys: readonly LimitKey[],
  given: unknown,
  rule: AmountRule,
  create: CreateOperation,
): readonly Operation[] {
  const amounts = given === undefined ? undefined : parseAmounts(limits, keys, given, rule)
  const operations: Operation[] = []
  for (let index = 0; index < keys.length; index++) {
    const amount = amounts === undefined ? 1 : amounts[index]
    if (amount !== undefined) operations.push(create(keys[index] as LimitKey, amount))
  }
  if (operations.length > 0) return operations
  throw new LimiterError('INVALID_ARGUMENT', `${rule.what} must name at least one tier of the key`)
}

/** Makes operations of one type that need nothing but an amount. */
export function createOfType(type: OperationType): CreateOperation {
  return (key, amount) => createOperation(key, type, { amount })
}

const checkId = text(200)

/** What lets a request of this `id` count once; `undefined` without one. A request that comes again with other tiers is another one. */
export function parseIdempotency(
  operations: readonly Operation[],
  id: unknown,
  ttlMs: number,
): Idempotency | undefined {
  if (id === undefined) return undefined
  const checked = checkId('idempotencyKey', id, 'INVALID_ARGUMENT')
  const name = JSON.stringify([...operations.map(({ limit }) => limit.name), checked])
  return { key: encodeSubject({ kind: 'id', name }), ttlMs }
}

function isSubject(key: unknown): boolean {
  return typeof key === 'string' || (typeof key === 'object' && key !== null && 'kind' in key && 'name' in key)
}

function assertTiers(
  limits: readonly NamedLimit[],
  given: object,
  code: 'INVALID_KEY' | 'INVALID_ARGUMENT',
  what: string,
): void {
  for (const name of Object.keys(given)) {
    let isKnown = false
    for (const limit of limits) isKnown ||= limit.name === name
    if (isKnown) continue
    throw new LimiterError(code, describeUnknownTier(what, name, listNames(limits)))
  }
}

function listNames(limits: readonly NamedLimit[]): readonly string[] {
  return limits.map(({ name }) => name)
}
