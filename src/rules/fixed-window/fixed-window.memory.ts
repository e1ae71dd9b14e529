import { addBounded, type RuleState, type StateCodec } from '../../core/rule.ts'
import type { CountedAdjust, CountedStep, WindowParameters } from '../outlive.ts'

/** The count of one window, which opened at `atMs` and lasts for `windowMs`. */
export interface FixedWindowState extends RuleState {
  readonly count: number
  readonly windowMs: number
}

/** What the fixed window knows. */
export type FixedWindowParameters = WindowParameters & { readonly anchor: 'clock' | 'first-hit' }

/** One step of the fixed window, on a window of that length. */
export const stepFixedWindow: CountedStep<FixedWindowParameters, FixedWindowState> = (
  parameters,
  state,
  nowMs,
  cost,
) => {
  const { limit, windowMs } = parameters
  const open = findOpen(state, windowMs, nowMs)
  const before = open?.count ?? 0
  const atMs = findStart(open, parameters, nowMs)
  const leftMs = atMs + windowMs - nowMs
  const passes = before + cost <= limit
  const count = passes ? before + cost : before
  return {
    retryAfterMs: passes ? 0 : leftMs,
    remaining: Math.max(0, limit - count),
    // A window whose count was refunded stays open: it must not restart before its end.
    resetAfterMs: open !== undefined || count > 0 ? leftMs : 0,
    nextAfterMs: count > 0 ? leftMs : 0,
    delayMs: 0,
    state: { atMs, count, windowMs },
  }
}

/** One adjustment of the fixed window, on a window of that length. */
export const adjustFixedWindow: CountedAdjust<FixedWindowParameters, FixedWindowState> = (
  parameters,
  state,
  nowMs,
  amount,
  takenMs,
) => {
  const { limit, windowMs, maxDebt } = parameters
  const open = findOpen(state, windowMs, nowMs)
  const before = open?.count ?? 0
  const atMs = findStart(open, parameters, nowMs)
  // What was taken in an earlier window has left with it.
  const hasLeft = amount < 0 && takenMs !== undefined && takenMs < atMs
  const count = hasLeft ? before : addBounded(before, amount, limit + maxDebt)
  return {
    state: open !== undefined || count > 0 ? { atMs, count, windowMs } : undefined,
    returned: Math.max(0, before - count),
  }
}

function findOpen(state: FixedWindowState | undefined, windowMs: number, nowMs: number) {
  return state !== undefined && nowMs < state.atMs + windowMs ? state : undefined
}

function findStart(
  open: FixedWindowState | undefined,
  { windowMs, anchor }: FixedWindowParameters,
  nowMs: number,
): number {
  if (open !== undefined && nowMs >= open.atMs) return open.atMs
  return anchor === 'clock' ? nowMs - (nowMs % windowMs) : nowMs
}

/** A state as numbers. */
export const fixedWindowCodec: StateCodec<FixedWindowState> = {
  count: 3,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.count
    row[at + 2] = state.windowMs
  },
  read: (row, at) => ({ atMs: row[at] as number, count: row[at + 1] as number, windowMs: row[at + 2] as number }),
}
