import { countUsed, type Level, type LevelParameters } from '../level.ts'
import type { CountedStep } from '../outlive.ts'

/** One step of the token bucket, on a level of that period and rate. */
export const stepTokenBucket: CountedStep<LevelParameters, Level> = (parameters, state, nowMs, cost) => {
  const { capacity, rate, periodMs } = parameters
  const before = countUsed(state, rate, nowMs)
  const retryAfterMs = Math.max(0, Math.ceil((before - (capacity - cost) * periodMs) / rate))
  const used = retryAfterMs === 0 ? before + cost * periodMs : before
  const remaining = Math.max(0, capacity - Math.ceil(used / periodMs))
  return {
    retryAfterMs,
    remaining,
    resetAfterMs: Math.ceil(used / rate),
    nextAfterMs: used === 0 ? 0 : Math.ceil((used - (capacity - remaining - 1) * periodMs) / rate),
    delayMs: 0,
    state: { atMs: nowMs, used, periodMs, rate },
  }
}
