import type { Outcome } from '../../core/rule.ts'
import { type Level, unitsOf } from '../level.ts'

interface Parameters {
  readonly capacity: number
  readonly refill: number
  readonly periodMs: number
  readonly maxDebt: number
}

/** One step of the token bucket. */
export function stepTokenBucket(
  { capacity, refill, periodMs, maxDebt }: Parameters,
  state: Level | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
): Outcome<Level> {
  const full = capacity * periodMs
  let level = full
  if (state !== undefined) {
    // Refilling for no longer than it takes to get full keeps the product exact after any absence.
    const refillMs = Math.min(Math.max(0, nowMs - state.atMs), Math.ceil((full - state.level) / refill))
    level = Math.min(full, state.level + refill * refillMs)
  }
  // Inexact only for a forced cost so large that the bounds below decide anyway.
  const units = unitsOf(cost, periodMs)
  const retryAfterMs = force ? 0 : Math.max(0, Math.ceil((units - level) / refill))
  const room = retryAfterMs === 0 ? (full - level) / periodMs : 0
  if (retryAfterMs === 0) level = Math.min(full, Math.max(level - units, Math.min(level, 0 - maxDebt * periodMs)))
  return {
    retryAfterMs,
    remaining: Math.max(0, Math.floor(level / periodMs)),
    resetAfterMs: Math.ceil((full - level) / refill),
    delayMs: 0,
    returned: cost < 0 ? Math.min(-cost, room) : 0,
    state: { atMs: nowMs, level },
  }
}
