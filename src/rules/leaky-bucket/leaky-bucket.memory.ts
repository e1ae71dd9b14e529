import type { Outcome } from '../../core/rule.ts'
import { type Level, unitsOf } from '../level.ts'

interface Parameters {
  readonly capacity: number
  readonly leak: number
  readonly periodMs: number
  readonly mode: 'police' | 'shape'
  readonly maxWaitMs: number
  readonly maxDebt: number
}

/** One step of the leaky bucket. */
export function stepLeakyBucket(
  { capacity, leak, periodMs, mode, maxWaitMs, maxDebt }: Parameters,
  state: Level | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
): Outcome<Level> {
  let level = 0
  if (state !== undefined) {
    // Leaking for no longer than it takes to run dry keeps the product exact after any absence.
    const leakMs = Math.min(Math.max(0, nowMs - state.atMs), Math.ceil(state.level / leak))
    level = Math.max(0, state.level - leak * leakMs)
  }
  // Inexact only for a forced cost so large that the bounds below decide anyway.
  const units = unitsOf(cost, periodMs)
  const full = capacity * periodMs
  const queueMs = mode === 'shape' ? Math.ceil(level / leak) : 0
  const retryAfterMs = force ? 0 : Math.max(0, Math.ceil((units - (full - level)) / leak), queueMs - maxWaitMs)
  const room = retryAfterMs === 0 ? level / periodMs : 0
  if (retryAfterMs === 0) level = Math.max(0, Math.min(level + units, Math.max(level, (capacity + maxDebt) * periodMs)))
  const fits = Math.floor((full - level) / periodMs)
  const inTime = mode === 'shape' ? Math.floor((maxWaitMs * leak - level) / periodMs) + 1 : fits
  return {
    retryAfterMs,
    remaining: Math.max(0, Math.min(fits, inTime)),
    resetAfterMs: Math.ceil(level / leak),
    delayMs: queueMs,
    returned: cost < 0 ? Math.min(-cost, room) : 0,
    state: { atMs: nowMs, level },
  }
}
