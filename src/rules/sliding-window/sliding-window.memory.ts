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
  takenMs?: number,
): Outcome<SlidingWindowState> {
  const atMs = nowMs - (nowMs % windowMs)
  const elapsedMs = nowMs - atMs
  const passedMs = state === undefined ? Number.POSITIVE_INFINITY : atMs - state.atMs
  let current = state !== undefined && passedMs <= 0 ? state.current : 0
  let previous = state === undefined || passedMs > windowMs ? 0 : passedMs > 0 ? state.current : state.previous

  const overlap = previous * (windowMs - elapsedMs)
  const passes = force || (current + cost <= limit && overlap <= (limit - current - cost) * windowMs)
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
  } else if (passes) {
    current = addBounded(current, cost, limit + maxDebt)
  }

  const used = current + Math.ceil((previous * (windowMs - elapsedMs)) / windowMs)
  return {
    retryAfterMs,
    remaining: Math.max(0, limit - used),
    resetAfterMs: current > 0 ? 2 * windowMs - elapsedMs : previous > 0 ? windowMs - elapsedMs : 0,
    delayMs: 0,
    returned,
    state: { atMs, current, previous },
  }
}

/** Time from the start of the current window until `cost` passes. */
function waitMs(limit: number, windowMs: number, current: number, previous: number, cost: number): number {
  if (current + cost <= limit) return Math.ceil((windowMs * (previous - limit + current + cost)) / previous)
  return windowMs + Math.ceil((windowMs * (current - limit + cost)) / current)
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
