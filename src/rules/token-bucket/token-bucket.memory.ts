import type { Outcome, RuleState, StateCells } from '../../core/rule.ts'

/** What is in the bucket at `atMs`, in units of token × millisecond, so that every millisecond adds a whole number. */
export interface TokenBucketState extends RuleState {
  readonly level: number
}

interface Parameters {
  readonly capacity: number
  readonly refill: number
  readonly periodMs: number
  readonly maxDebt: number
}

/** One step of the token bucket. */
export function stepTokenBucket(
  { capacity, refill, periodMs, maxDebt }: Parameters,
  state: TokenBucketState | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
): Outcome<TokenBucketState> {
  const full = capacity * periodMs
  let level = full
  if (state !== undefined) {
    // Refilling for no longer than it takes to get full keeps the product exact after any absence.
    const refillMs = Math.min(Math.max(0, nowMs - state.atMs), Math.ceil((full - state.level) / refill))
    level = Math.min(full, state.level + refill * refillMs)
  }
  // Inexact only for a forced cost so large that the bounds below decide anyway.
  const units = cost * periodMs
  const retryAfterMs = force ? 0 : Math.max(0, Math.ceil((units - level) / refill))
  if (retryAfterMs === 0) level = Math.min(full, Math.max(level - units, Math.min(level, -maxDebt * periodMs)))
  return {
    retryAfterMs,
    remaining: Math.max(0, Math.floor(level / periodMs)),
    resetAfterMs: Math.ceil((full - level) / refill),
    delayMs: 0,
    state: { atMs: nowMs, level },
  }
}

/** A state as numbers. */
export const tokenBucketCells: StateCells<TokenBucketState> = {
  count: 2,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.level
  },
  read: (row, at) => ({ atMs: row[at] as number, level: row[at + 1] as number }),
}
