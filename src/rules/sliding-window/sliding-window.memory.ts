import { addBounded, type RuleState, type StateCodec } from '../../core/rule.ts'
import type { CountedAdjust, CountedStep, WindowParameters } from '../outlive.ts'

/** The counts of the window that started at `atMs` and of the one before it, both of `windowMs`. */
export interface SlidingWindowState extends RuleState {
  readonly current: number
  readonly previous: number
  readonly windowMs: number
}

/** One step of the sliding window counter, on windows of that length. */
export const stepSlidingWindow: CountedStep<WindowParameters, SlidingWindowState> = (
  parameters,
  state,
  nowMs,
  cost,
) => {
  const { limit, windowMs } = parameters
  const atMs = Math.floor(nowMs / windowMs) * windowMs
  const elapsedMs = nowMs - atMs
  const before = countCurrent(state, atMs)
  const previous = countPrevious(state, atMs, windowMs)
  // The last `windowMs` milliseconds end with this one, so `windowMs - 1 - elapsedMs` of them lie in the window before. Rounded down:
  // only so are evenly spaced requests at exactly the limit never refused.
  const overlapping = Math.floor((previous * (windowMs - 1 - elapsedMs)) / windowMs)
  const passes = overlapping + before + cost <= limit
  const current = passes ? before + cost : before
  const remaining = Math.max(0, limit - overlapping - current)
  return {
    retryAfterMs: passes ? 0 : waitMs(limit, windowMs, before, previous, cost) - elapsedMs,
    remaining,
    resetAfterMs: current > 0 ? 2 * windowMs - elapsedMs : previous > 0 ? windowMs - elapsedMs : 0,
    nextAfterMs: remaining === limit ? 0 : waitMs(limit, windowMs, current, previous, remaining + 1) - elapsedMs,
    delayMs: 0,
    state: { atMs, current, previous, windowMs },
  }
}

/** One adjustment of the sliding window counter, on windows of that length. */
export const adjustSlidingWindow: CountedAdjust<WindowParameters, SlidingWindowState> = (
  parameters,
  state,
  nowMs,
  amount,
  takenMs,
) => {
  const { limit, windowMs, maxDebt } = parameters
  const atMs = nowMs - (nowMs % windowMs)
  let current = countCurrent(state, atMs)
  let previous = countPrevious(state, atMs, windowMs)
  let returned = 0
  if (amount < 0) {
    const inCurrent = takenMs === undefined || takenMs >= atMs
    const inPrevious = takenMs === undefined || (takenMs < atMs && takenMs >= atMs - windowMs)
    const fromCurrent = inCurrent ? Math.min(-amount, current) : 0
    const fromPrevious = inPrevious ? Math.min(-amount - fromCurrent, previous) : 0
    current -= fromCurrent
    previous -= fromPrevious
    returned = fromCurrent + fromPrevious
  } else {
    current = addBounded(current, amount, limit + maxDebt)
  }
  return { state: current + previous === 0 ? undefined : { atMs, current, previous, windowMs }, returned }
}

/** What counts in the window that started at `atMs`. */
function countCurrent(state: SlidingWindowState | undefined, atMs: number): number {
  return state !== undefined && atMs <= state.atMs ? state.current : 0
}

/** What counts in the window before the one that started at `atMs`. */
function countPrevious(state: SlidingWindowState | undefined, atMs: number, windowMs: number): number {
  if (state === undefined || atMs - state.atMs > windowMs) return 0
  return atMs > state.atMs ? state.current : state.previous
}

/** Time from the start of the current window until `cost` passes. */
function waitMs(limit: number, windowMs: number, current: number, previous: number, cost: number): number {
  const free = limit - current - cost
  if (free >= 0) return msUntilOverlap(windowMs, previous, free)
  return windowMs + msUntilOverlap(windowMs, current, limit - cost)
}

/** Time from the start of a window until no more than `free` is left of the one before, which had more. */
function msUntilOverlap(windowMs: number, previous: number, free: number): number {
  return Math.floor((windowMs * (previous - free - 1)) / previous)
}

/** A state as numbers. */
export const slidingWindowCodec: StateCodec<SlidingWindowState> = {
  count: 4,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.current
    row[at + 2] = state.previous
    row[at + 3] = state.windowMs
  },
  read: (row, at) => ({
    atMs: row[at] as number,
    current: row[at + 1] as number,
    previous: row[at + 2] as number,
    windowMs: row[at + 3] as number,
  }),
}
