import { addBounded, type Outcome } from '../../core/rule.ts'
import type { SlidingWindowState } from './sliding-window.ts'

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
    retryAfterMs = windowMs - elapsedMs + Math.max(0, intoNextMs)
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
