import type { Rule, RuleState } from '../core/rule.ts'

/** The stored part of a reservation: it is refunded at `untilMs` unless it is settled before. */
export interface Hold {
  readonly id: number
  readonly amount: number
  /** What can still go back: never more than is still counted of it. */
  readonly left: number
  readonly takenMs: number
  readonly untilMs: number
}

/** The most holds of one key at once. */
export const MOST_HOLDS = 1_000

/** No holds. */
export const NO_HOLDS: readonly Hold[] = Object.freeze([])

/** What a rule has counted of a key, and the holds on it. */
export interface Held {
  readonly state: RuleState | undefined
  readonly holds: readonly Hold[]
}

/** Gives back what the expired holds took. What a lease took has come back by itself. */
export function returnExpired(rule: Rule, held: Held, timeMs: number): Held {
  const expired = held.holds.filter((hold) => hold.untilMs <= timeMs)
  if (expired.length === 0) return held
  const state = giveBackHolds(rule, held.state, expired, timeMs)
  return { state, holds: held.holds.filter((hold) => hold.untilMs > timeMs) }
}

/** The holds as they are after a take: what has been refilled since they took it can no longer go back. */
export function clipHolds(rule: Rule, { state, holds }: Held, timeMs: number): readonly Hold[] {
  if (holds.length === 0 || rule.refunds !== 'pool') return holds
  return holds.map((hold) => ({ ...hold, left: rule.adjust(state, timeMs, -hold.left, hold.takenMs).returned }))
}

/** What goes back of a hold of which `used` was used: all that can when that is nothing, as when the hold expires. */
export function countUnused({ amount, left }: Hold, used: number): number {
  if (used === 0) return left
  const unused = amount - used
  // After the limit was raised a hold counts for more than it reserved, and so does each request of it.
  return left > amount ? Math.floor((unused * left) / amount) : Math.min(unused, left)
}

/** When a refused cost passes if nobody comes but holds expire, from `timeMs`. */
export function passesAfterMs(rule: Rule, { state, holds }: Held, timeMs: number, cost: number): number {
  let current = state
  let atMs = timeMs
  const pending = rule.refunds === 'lease' ? NO_HOLDS : [...holds].sort((one, other) => one.untilMs - other.untilMs)
  for (const hold of pending) {
    const passesMs = atMs + rule.step(current, atMs, cost).retryAfterMs
    if (passesMs <= hold.untilMs) return passesMs - timeMs
    atMs = hold.untilMs
    current = giveBackHolds(rule, current, [hold], atMs)
  }
  return atMs + rule.step(current, atMs, cost).retryAfterMs - timeMs
}

/** Time until a key with holds is as if it had never been used: all of them have expired, and what they gave back is fresh. */
export function freshWithHoldsMs(rule: Rule, { state, holds }: Held, timeMs: number): number {
  const last = holds.reduce((latestMs, hold) => Math.max(latestMs, hold.untilMs), timeMs)
  const emptied = giveBackHolds(rule, state, holds, timeMs)
  return Math.max(last - timeMs, rule.step(emptied, timeMs, 0).resetAfterMs)
}

function giveBackHolds(rule: Rule, state: Held['state'], holds: readonly Hold[], timeMs: number): Held['state'] {
  if (rule.refunds === 'lease') return state
  let current = state
  for (const hold of holds) current = rule.adjust(current, timeMs, -hold.left, hold.takenMs).state
  return current
}
