import { findSlotStart, type Rule, type RuleState } from '../core/rule.ts'
import { clipHolds, type Held } from './holds.ts'

/**
 * Units that a process spends without asking. Until `endMs` all of them count as taken at the time of every decision; from then on as
 * taken in the last millisecond before it.
 */
export interface Grant {
  readonly id: number
  readonly amount: number
  readonly endMs: number
}

/** The grants of a key: at least one. All but the list is what most decisions need, so that none walks through the list. */
export interface Grants {
  /** In the order in which they were given. */
  readonly list: readonly Grant[]
  /** The amount of all of them. */
  readonly sum: number
  /** None ends before this, and none after `lastEndMs`. Those that were settled may have. */
  readonly firstEndMs: number
  readonly lastEndMs: number
  /** When the key is as if it had never been used, at the latest: as if all units were spent at the last end. */
  readonly freshMs: number
}

/** The most grants of one key at once. */
export const MOST_GRANTS = 256

/** The longest that a grant lasts: an end further ahead than this is from before the clock was set back. */
export const LONGEST_GRANT_MS = 60_000

/** What a rule has counted of a key, and the grants on it. */
export interface Lent {
  readonly state: RuleState | undefined
  readonly grants: Grants | undefined
}

/** The state with the units of all live grants taken now: what a decision looks at. */
export function countLive(rule: Rule, { state, grants }: Lent, timeMs: number): RuleState | undefined {
  return grants === undefined ? state : rule.adjust(state, timeMs, grants.sum).state
}

/**
 * Makes the units of the grants that have ended a part of the state. To be called before anything is counted at `timeMs`, or time would
 * run backwards. The same object where none can have ended.
 */
export function foldEnded<Part extends Lent & Held>(rule: Rule, lent: Part, timeMs: number): Part {
  const { grants } = lent
  if (grants === undefined || grants.firstEndMs > timeMs) return lent
  const ended = grants.list.filter(({ endMs }) => endMs <= timeMs).sort((one, other) => one.endMs - other.endMs)
  let { state, holds } = lent
  for (const grant of ended) {
    // As any take does: what has been refilled by then can no longer go back.
    holds = clipHolds(rule, { state, holds }, grant.endMs - 1)
    state = fold(rule, state, grant)
  }
  const live = grants.list.filter(({ endMs }) => endMs > timeMs)
  return { ...lent, state, holds, grants: listGrants(live, grants.freshMs) }
}

/** The grants after the clock was set back by `backMs` for good. */
export function moveGrants({ list, lastEndMs, freshMs }: Grants, timeMs: number, backMs: number): Grants | undefined {
  const latestMs = timeMs + LONGEST_GRANT_MS
  const moved = list.map((grant) => ({ ...grant, endMs: Math.min(grant.endMs - backMs, latestMs) }))
  return listGrants(moved, freshMs - Math.max(backMs, lastEndMs - latestMs))
}

/** The grants with one more. */
export function addGrant(rule: Rule, { state, grants }: Lent, grant: Grant): Grants {
  const sum = (grants?.sum ?? 0) + grant.amount
  const lastEndMs = Math.max(grants?.lastEndMs ?? 0, grant.endMs)
  const spent = fold(rule, state, { amount: sum, endMs: lastEndMs })
  const leftMs = spent === undefined ? 0 : rule.step(spent, lastEndMs - 1, 0).resetAfterMs
  return {
    list: [...(grants?.list ?? []), grant],
    sum,
    firstEndMs: Math.min(grants?.firstEndMs ?? grant.endMs, grant.endMs),
    lastEndMs,
    freshMs: Math.max(grants?.freshMs ?? 0, lastEndMs, lastEndMs - 1 + leftMs),
  }
}

/** The grants without that of an id, undefined when none is left. The same object where there is no such grant. */
export function removeGrant(grants: Grants | undefined, id: number): Grants | undefined {
  const index = grants?.list.findIndex((grant) => grant.id === id) ?? -1
  if (grants === undefined || index < 0) return grants
  if (grants.list.length === 1) return undefined
  return { ...grants, list: grants.list.toSpliced(index, 1), sum: grants.sum - (grants.list[index] as Grant).amount }
}

/**
 * When a cost that does not pass now does at the latest, from `timeMs`: as if all units were spent when the last grant ends, and no
 * request came.
 *
 * @param retryAfterMs when it passes if they are spent now.
 */
export function passesBesideGrantsMs(
  rule: Rule,
  lent: Lent & { readonly grants: Grants },
  timeMs: number,
  cost: number,
  retryAfterMs: number,
): number {
  const slots = rule.slots?.(countLive(rule, lent, timeMs) as RuleState)
  const lastMs = lent.grants.lastEndMs - 1
  // What is spent in one slot counts alike.
  const atMs = slots === undefined ? lastMs : findSlotStart(slots, lastMs)
  if (atMs <= timeMs) return retryAfterMs
  return atMs - timeMs + rule.step(countLive(rule, lent, atMs), atMs, cost).retryAfterMs
}

function fold(
  rule: Rule,
  state: RuleState | undefined,
  { amount, endMs }: Pick<Grant, 'amount' | 'endMs'>,
): RuleState | undefined {
  return rule.adjust(state, endMs - 1, amount).state
}

function listGrants(list: readonly Grant[], freshMs: number): Grants | undefined {
  if (list.length === 0) return undefined
  const ends = list.map(({ endMs }) => endMs)
  const sum = list.reduce((total, { amount }) => total + amount, 0)
  return { list, sum, firstEndMs: Math.min(...ends), lastEndMs: Math.max(...ends), freshMs }
}
