import { addBounded, type Outcome, type RuleState, type StateCells } from '../../core/rule.ts'

/** The counts of the window that started at `atMs` and of the one before it, both of `windowMs`. */
export interface SlidingWindowState extends RuleState {
  readonly current: number
  readonly previous: number
  readonly windowMs: number
}

interface Parameters {
  readonly limit: number
  readonly windowMs: number
  readonly maxDebt: number
}

/** One step of the sliding window counter, on windows of that length. */
export function stepSlidingWindow(
  { limit, windowMs, maxDebt }: Parameters,
  state: SlidingWindowState | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
  takenMs?: number,
): Outcome<SlidingWindowState> {
  const atMs = Math.floor(nowMs / windowMs) * windowMs
  const elapsedMs = nowMs - atMs
  const passedMs = state === undefined ? Number.POSITIVE_INFINITY : atMs - state.atMs
  let current = state !== undefined && passedMs <= 0 ? state.current : 0
  let previous = state === undefined || passedMs > windowMs ? 0 : passedMs > 0 ? state.current : state.previous

  let overlapping = overlap(windowMs, elapsedMs, previous)
  const passes = force || overlapping + current + cost <= limit
  const retryAfterMs = passes ? 0 : waitMs(limit, windowMs, current, previous, cost) - elapsedMs
  let returned = 0
  if (passes && cost < 0) {
    const inCurrent = takenMs === undefined || takenMs >= atMs
    const inPrevious = takenMs === undefined || (takenMs < atMs && takenMs >= atMs - windowMs)
    const fromCurrent = inCurrent ? Math.min(-cost, current) : 0
    const fromPrevious = inPrevious ? Math.min(-cost - fromCurrent, previous) : 0
    current -= fromCurrent
    previous -= fromPrevious
    returned = fromCurrent + fromPrevious
    overlapping = overlap(windowMs, elapsedMs, previous)
  } else if (passes) {
    current = addBounded(current, cost, limit + maxDebt)
  }

  const remaining = Math.max(0, limit - overlapping - current)
  return {
    retryAfterMs,
    remaining,
    resetAfterMs: current > 0 ? 2 * windowMs - elapsedMs : previous > 0 ? windowMs - elapsedMs : 0,
    nextAfterMs: remaining === limit ? 0 : waitMs(limit, windowMs, current, previous, remaining + 1) - elapsedMs,
    delayMs: 0,
    returned,
    state: { atMs, current, previous, windowMs },
  }
}

// The last `windowMs` milliseconds end with this one, so `windowMs - 1 - elapsedMs` of them lie in the window before. Rounded down:
// only so are evenly spaced requests at exactly the limit never refused.
function overlap(windowMs: number, elapsedMs: number, previous: number): number {
  return Math.floor((previous * (windowMs - 1 - elapsedMs)) / windowMs)
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
export const slidingWindowCells: StateCells<SlidingWindowState> = {
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
