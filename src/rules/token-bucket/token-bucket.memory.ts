import type { Outcome } from '../../core/rule.ts'
import { type Level, type LevelParameters, unitsOf, usedAt } from '../level.ts'

/** One step of the token bucket, on a level of that period and rate. */
export function stepTokenBucket(
  { capacity, rate, periodMs, maxDebt }: LevelParameters,
  state: Level | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
): Outcome<Level> {
  const before = state === undefined ? 0 : usedAt(state, rate, nowMs)
  let used = before
  const retryAfterMs = force ? 0 : Math.max(0, Math.ceil((used - (capacity - cost) * periodMs) / rate))
  if (retryAfterMs === 0) {
    // Inexact only for a forced cost so large that the bounds decide anyway.
    const units = unitsOf(cost, periodMs)
    used = Math.max(0, Math.min(used + units, Math.max(used, (capacity + maxDebt) * periodMs)))
  }
  const remaining = Math.max(0, capacity - Math.ceil(used / periodMs))
  return {
    retryAfterMs,
    remaining,
    resetAfterMs: Math.ceil(used / rate),
    nextAfterMs: used === 0 ? 0 : Math.ceil((used - (capacity - remaining - 1) * periodMs) / rate),
    delayMs: 0,
    returned: cost < 0 && retryAfterMs === 0 ? Math.min(-cost, before / periodMs) : 0,
    state: { atMs: nowMs, used, periodMs, rate },
  }
}
