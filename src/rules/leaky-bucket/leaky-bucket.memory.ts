import type { Outcome, RuleState, StateCells } from '../../core/rule.ts'

/** What is in the bucket at `atMs`, in units of request × millisecond, so that every millisecond leaks a whole number. */
export interface LeakyBucketState extends RuleState {
  readonly level: number
}

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
  state: LeakyBucketState | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
): Outcome<LeakyBucketState> {
  let level = 0
  if (state !== undefined) {
    // Leaking for no longer than it takes to run dry keeps the product exact after any absence.
    const leakMs = Math.min(Math.max(0, nowMs - state.atMs), Math.ceil(state.level / leak))
    level = Math.max(0, state.level - leak * leakMs)
  }
  // Inexact only for a forced cost so large that the bounds below decide anyway.
  const units = cost * periodMs
  const full = capacity * periodMs
  const queueMs = mode === 'shape' ? Math.ceil(level / leak) : 0
  const retryAfterMs = force ? 0 : Math.max(0, Math.ceil((units - (full - level)) / leak), queueMs - maxWaitMs)
  if (retryAfterMs === 0) level = Math.max(0, Math.min(level + units, Math.max(level, (capacity + maxDebt) * periodMs)))
  const fits = Math.floor((full - level) / periodMs)
  const inTime = mode === 'shape' ? Math.floor((maxWaitMs * leak - level) / periodMs) + 1 : fits
  return {
    retryAfterMs,
    remaining: Math.max(0, Math.min(fits, inTime)),
    resetAfterMs: Math.ceil(level / leak),
    delayMs: queueMs,
    state: { atMs: nowMs, level },
  }
}

/** A state as numbers. */
export const leakyBucketCells: StateCells<LeakyBucketState> = {
  count: 2,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.level
  },
  read: (row, at) => ({ atMs: row[at] as number, level: row[at + 1] as number }),
}
