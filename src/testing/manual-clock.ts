import { wholeNumber } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'

/** A clock that moves only when it is told to. */
export interface ManualClock extends Clock {
  /** Moves the clock on. */
  advance(byMs: number): void
  /** Sets the clock to a time, earlier ones included. */
  set(toMs: number): void
}

/** A clock for tests: starts at `startMs` and stands still until `advance` or `set`. */
export function manualClock(startMs = 0): ManualClock {
  let nowMs = wholeNumber('startMs', startMs, 0)
  return {
    nowMs: () => nowMs,
    advance(byMs) {
      nowMs += wholeNumber('byMs', byMs, 0)
    },
    set(toMs) {
      nowMs = wholeNumber('toMs', toMs, 0)
    },
  }
}
