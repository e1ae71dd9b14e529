import type { Rule, RuleState } from '../core/rule.ts'

/** What was taken for a time: it goes back by itself at `untilMs` unless it is settled before. */
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

interface Held<S extends RuleState> {
  readonly state: S | undefined
  readonly holds: readonly Hold[]
}

/** The holds with those moved back that were taken more than `mostLagMs` after `nowMs`: to `timeMs`, the key's own time. */
export function pullBackHolds(
  holds: readonly Hold[],
  nowMs: number,
  timeMs: number,
  mostLagMs: number,
): readonly Hold[] {
  if (holds.every(({ takenMs }) => takenMs - nowMs <= mostLagMs)) return holds
  return holds.map((hold) => {
    const { takenMs, untilMs } = hold
    return takenMs - nowMs <= mostLagMs ? hold : { ...hold, takenMs: timeMs, untilMs: untilMs - (takenMs - timeMs) }
  })
}

/** Gives back what the expired holds took. What a lease took has come back by itself. */
export function returnExpired<S extends RuleState>(
  rule: Rule<S>,
  state: S | undefined,
  holds: readonly Hold[],
  timeMs: number,
): Held<S> {
  const live = holds.filter((hold) => hold.untilMs > timeMs)
  if (live.length === holds.length) return { state, holds }
  return {
    state: giveBackHolds(
      rule,
      state,
      holds.filter((hold) => hold.untilMs <= timeMs),
      timeMs,
    ),
    holds: live,
  }
}

/** The holds as they are after a take: what has been refilled since they took it can no longer go back. */
export function clipHolds<S extends RuleState>(
  rule: Rule<S>,
  state: S | undefined,
  holds: readonly Hold[],
  timeMs: number,
): readonly Hold[] {
  if (holds.length === 0 || rule.refunds !== 'pool') return holds
  return holds.map((hold) => ({ ...hold, left: rule.adjust(state, timeMs, -hold.left, hold.takenMs).returned }))
}

/** When a refused cost passes if nobody comes but holds expire, from `timeMs`. */
export function passesAfterMs<S extends RuleState>(
  rule: Rule<S>,
  state: S | undefined,
  holds: readonly Hold[],
  timeMs: number,
  cost: number,
): number {
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
export function freshWithHoldsMs<S extends RuleState>(
  rule: Rule<S>,
  state: S | undefined,
  holds: readonly Hold[],
  timeMs: number,
): number {
  const last = holds.reduce((latestMs, hold) => Math.max(latestMs, hold.untilMs), timeMs)
  const emptied = giveBackHolds(rule, state, holds, timeMs)
  return Math.max(last - timeMs, emptied === undefined ? 0 : rule.step(emptied, timeMs, 0).resetAfterMs)
}

function giveBackHolds<S extends RuleState>(
  rule: Rule<S>,
  state: S | undefined,
  holds: readonly Hold[],
  timeMs: number,
): S | undefined {
  if (rule.refunds === 'lease') return state
  let current = state
  for (const hold of holds) {
    if (current === undefined) return undefined
    current = rule.adjust(current, timeMs, -hold.left, hold.takenMs).state
  }
  return current
}
