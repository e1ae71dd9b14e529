import type { Outcome } from '../../core/rule.ts'
import { type Level, type LevelParameters, unitsOf, usedAt } from '../level.ts'

/** What the leaky bucket knows. */
export interface LeakyBucketParameters extends LevelParameters {
  readonly mode: 'police' | 'shape'
  readonly maxWaitMs: number
}

/** One step of the leaky bucket, on a level of that period and rate. */
export function stepLeakyBucket(
  { capacity, rate, periodMs, mode, maxWaitMs, maxDebt }: LeakyBucketParameters,
  state: Level | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
): Outcome<Level> {
  const before = state === undefined ? 0 : usedAt(state, rate, nowMs)
  let used = before
  const queueMs = mode === 'shape' ? Math.ceil(used / rate) : 0
  const fullMs = Math.ceil((used - (capacity - cost) * periodMs) / rate)
  const retryAfterMs = force ? 0 : Math.max(0, fullMs, queueMs - maxWaitMs)
  if (retryAfterMs === 0) {
    // Inexact only for a forced cost so large that the bounds decide anyway.
    const units = unitsOf(cost, periodMs)
    used = Math.max(0, Math.min(used + units, Math.max(used, (capacity + maxDebt) * periodMs)))
  }
  const fits = capacity - Math.ceil(used / periodMs)
  const inTime = mode === 'shape' ? Math.floor((maxWaitMs * rate - used) / periodMs) + 1 : fits
  const remaining = Math.max(0, Math.min(fits, inTime))
  const resetAfterMs = Math.ceil(used / rate)
  const moreMs = Math.ceil((used - (capacity - remaining - 1) * periodMs) / rate)
  return {
    retryAfterMs,
    remaining,
    resetAfterMs,
    nextAfterMs: used === 0 ? 0 : Math.max(0, moreMs, mode === 'shape' ? resetAfterMs - maxWaitMs : 0),
    // Longer only right after the rate has changed.
    delayMs: Math.min(queueMs, maxWaitMs),
    returned: cost < 0 && retryAfterMs === 0 ? Math.min(-cost, before / periodMs) : 0,
    state: { atMs: nowMs, used, periodMs, rate },
  }
}
