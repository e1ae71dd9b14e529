import { countUsed, type Level, type LevelParameters } from '../level.ts'
import type { CountedStep } from '../outlive.ts'

/** What the leaky bucket knows. */
export interface LeakyBucketParameters extends LevelParameters {
  readonly mode: 'police' | 'shape'
  readonly maxWaitMs: number
}

/** One step of the leaky bucket, on a level of that period and rate. */
export const stepLeakyBucket: CountedStep<LeakyBucketParameters, Level> = (parameters, state, nowMs, cost) => {
  const { capacity, rate, periodMs, mode, maxWaitMs } = parameters
  const before = countUsed(state, rate, nowMs)
  const queueMs = mode === 'shape' ? Math.ceil(before / rate) : 0
  const fullMs = Math.ceil((before - (capacity - cost) * periodMs) / rate)
  const retryAfterMs = Math.max(0, fullMs, queueMs - maxWaitMs)
  const used = retryAfterMs === 0 ? before + cost * periodMs : before
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
    state: { atMs: nowMs, used, periodMs, rate },
  }
}
