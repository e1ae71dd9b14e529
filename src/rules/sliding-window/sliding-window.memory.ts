import { addBounded, type Outcome, type RuleState, type StateCells } from '../../core/rule.ts'

/** The counts of the window that started at `atMs` and of the one before it. */
export interface SlidingWindowState extends RuleState {
  readonly current: number
  readonly previous: number
}

interface Parameters {
  readonly limit: number
  readonly windowMs: number
  readonly maxDebt: number
}

/** One step of the sliding window counter. */
export function stepSlidingWindow(
  { limit, windowMs, maxDebt }: Parameters,
  state: SlidingWindowState | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
): Outcome<SlidingWindowState> {
  const atMs = nowMs - (nowMs % windowMs)
  const elapsedMs = nowMs - atMs
  const passedMs = state === undefined ? Number.POSITIVE_INFINITY : atMs - state.atMs
  let current = state !== undefined && passedMs <= 0 ? state.current : 0
  let previous = state === undefined || passedMs > windowMs ? 0 : passedMs > 0 ? state.current : state.previous

  const overlap = previous * (windowMs - elapsedMs)
  const passes = force || (current + cost <= limit && overlap <= (limit - current - cost) * windowMs)
  let retryAfterMs = 0
  if (!passes && current + cost <= limit) {
    retryAfterMs = Math.ceil((windowMs * (previous - limit + current + cost)) / previous) - elapsedMs
  } else if (!passes) {
    const intoNextMs = Math.ceil((windowMs * (current - limit + cost)) / current)
    retryAfterMs = windowMs - elapsedMs + intoNextMs
  } else if (current + cost < 0) {
    previous = Math.max(0, previous + current + cost)
    current = 0
  } else {
    current = addBounded(current, cost, limit + maxDebt)
  }

  const used = current + Math.ceil((previous * (windowMs - elapsedMs)) / windowMs)
  return {
    retryAfterMs,
    remaining: Math.max(0, limit - used),
    resetAfterMs: current > 0 ? 2 * windowMs - elapsedMs : previous > 0 ? windowMs - elapsedMs : 0,
    delayMs: 0,
    state: { atMs, current, previous },
  }
}

/** A state as numbers. */
export const slidingWindowCells: StateCells<SlidingWindowState> = {
  count: 3,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.current
    row[at + 2] = state.previous
  },
  read: (row, at) => ({
    atMs: row[at] as number,
    current: row[at + 1] as number,
    previous: row[at + 2] as number,
  }),
}
