import { show, wholeNumber } from '../core/check.ts'
import { encodeSubject, type Subject } from '../core/key.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Tier } from './tier.ts'

/** One tier's subject in a call. */
export interface Target<Of extends Named = Tier> {
  readonly tier: Of
  readonly subject: Subject
  readonly key: string
}

/** As much of a tier as it takes to tell it from others. */
export interface Named {
  readonly name: string
}

/** The tiers that a key speaks of, with their subjects. */
export function targetsOf<Of extends Named = Tier>(
  tiers: readonly Of[],
  isTiered: boolean,
  key: unknown,
): readonly Target<Of>[] {
  if (!isTiered || isSubject(key)) {
    const subject = key as Subject
    const encoded = encodeSubject(subject)
    return tiers.map((tier) => ({ tier, subject, key: encoded }))
  }
  if (typeof key !== 'object' || key === null) {
    throw new LimiterError(
      'INVALID_KEY',
      `a key must be a string, { kind, name } or a subject by tier, got ${show(key)}`,
    )
  }
  demandTiers(tiers, key, 'INVALID_KEY', 'a key')
  const subjects = key as Readonly<Record<string, Subject | undefined>>
  const targets: Target<Of>[] = []
  for (const tier of tiers) {
    const subject = subjects[tier.name]
    if (subject !== undefined) targets.push({ tier, subject, key: encodeSubject(subject) })
  }
  if (targets.length > 0) return targets
  throw new LimiterError('INVALID_KEY', `a key must have a subject for one tier at least, of ${namesOf(tiers)}`)
}

/** What an amount by tier leaves for tiers that it does not name. */
export interface AmountRule {
  readonly what: string
  readonly least: number
  /** Absent: tiers that are not named take no part. */
  readonly otherwise?: number
}

/** Each target's amount, `undefined` where it takes no part. */
export function amountsOf(
  tiers: readonly Named[],
  targets: readonly Target<Named>[],
  given: unknown,
  { what, least, otherwise }: AmountRule,
): readonly (number | undefined)[] {
  const check = (name: string, value: unknown): number => wholeNumber(name, value, least, undefined, 'INVALID_ARGUMENT')
  if (given === undefined) return targets.map(() => 1)
  if (typeof given !== 'object' || given === null) {
    const amount = check(what, given)
    return targets.map(() => amount)
  }
  demandTiers(tiers, given, 'INVALID_ARGUMENT', what)
  const amounts = given as Readonly<Record<string, unknown>>
  for (const [name, amount] of Object.entries(amounts)) if (amount !== undefined) check(`${what}.${name}`, amount)
  return targets.map(({ tier }) => (amounts[tier.name] as number | undefined) ?? otherwise)
}

function isSubject(key: unknown): boolean {
  return typeof key === 'string' || (typeof key === 'object' && key !== null && 'kind' in key && 'name' in key)
}

function demandTiers(
  tiers: readonly Named[],
  given: object,
  code: 'INVALID_KEY' | 'INVALID_ARGUMENT',
  what: string,
): void {
  for (const name of Object.keys(given)) {
    if (tiers.some((tier) => tier.name === name)) continue
    throw new LimiterError(code, `${what} names the tier ${show(name)}, which is not among ${namesOf(tiers)}`)
  }
}

function namesOf(tiers: readonly Named[]): string {
  return tiers.map(({ name }) => name).join(', ')
}
