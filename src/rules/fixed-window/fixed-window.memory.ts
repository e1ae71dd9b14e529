import { addBounded, type Outcome, type RuleState, type StateCells } from '../../core/rule.ts'

/** The count of one window, which opened at `atMs` and lasts for `windowMs`. */
export interface FixedWindowState extends RuleState {
  readonly count: number
  readonly windowMs: number
}

interface Parameters {
  readonly limit: number
  readonly windowMs: number
  readonly anchor: 'clock' | 'first-hit'
  readonly maxDebt: number
}

/** One step of the fixed window, on a window of that length. */
export function stepFixedWindow(
  { limit, windowMs, anchor, maxDebt }: Parameters,
  state: FixedWindowState | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
  takenMs?: number,
): Outcome<FixedWindowState> {
  const live = state !== undefined && nowMs < state.atMs + windowMs
  const before = live ? state.count : 0
  const atMs = live && nowMs >= state.atMs ? state.atMs : anchor === 'clock' ? nowMs - (nowMs % windowMs) : nowMs
  const leftMs = atMs + windowMs - nowMs
  const passes = force || before + cost <= limit
  // What was taken in an earlier window has left with it.
  const hasLeft = cost < 0 && takenMs !== undefined && takenMs < atMs
  const count = passes && !hasLeft ? addBounded(before, cost, limit + maxDebt) : before
  return {
    retryAfterMs: passes ? 0 : leftMs,
    remaining: Math.max(0, limit - count),
    // A window whose count was given back stays open: it must not restart before its end.
    resetAfterMs: live || count > 0 ? leftMs : 0,
    nextAfterMs: count > 0 ? leftMs : 0,
    delayMs: 0,
    returned: cost < 0 ? before - count : 0,
    state: { atMs, count, windowMs },
  }
}

/** A state as numbers. */
export const fixedWindowCells: StateCells<FixedWindowState> = {
  count: 3,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.count
    row[at + 2] = state.windowMs
  },
  read: (row, at) => ({ atMs: row[at] as number, count: row[at + 1] as number, windowMs: row[at + 2] as number }),
}
