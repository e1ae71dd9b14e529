import { wholeNumber } from '../core/check.ts'
import type { Clock } from '../core/clock.ts'

/** A clock that moves only when you move it. */
export interface ManualClock extends Clock {
  /**
   * Moves the clock on and rings the timers that fall due on the way, each at its own time, those of one time in the order in which
   * they were started. Promises do not settle in between: code that waits needs `run`.
   */
  advance(byMs: number): void
  /** Sets the clock to a time. Later: as `advance`. Earlier: no time passes, so no timer rings or comes nearer. */
  set(toMs: number): void
  /**
   * As `advance`, but lets all promises settle first, and after every ring: `await clock.run(1_000)` is a second in the life of
   * code that waits. It does not wait for input and output such as the answer of a server.
   */
  run(byMs: number): Promise<void>
  timer(afterMs: number, ring: () => void): () => void
  /** How many timers have been started and neither rung nor been cancelled. */
  readonly pendingTimers: number
}

interface Timer {
  readonly dueMs: number
  readonly ring: () => void
}

// Kept from the start, because fake timers of a test runner would replace it and `run` would never end. A browser has none.
const nextTurn: (run: () => void) => unknown = globalThis.setImmediate ?? globalThis.setTimeout

/** A clock for tests: starts at `startMs` and stands still until `advance`, `run` or `set`. */
export function manualClock(startMs = 0): ManualClock {
  let offsetMs = wholeNumber('startMs', startMs, 0)
  // Timers count the time that has passed, as real ones do, and not what the clock says: it may be set back.
  let passedMs = 0
  const timers = new Set<Timer>()

  const nowMs = (): number => offsetMs + passedMs
  const ringNext = (untilMs: number): boolean => {
    const next = earliest(timers)
    if (next === undefined || next.dueMs > untilMs) return false
    timers.delete(next)
    passedMs = next.dueMs
    next.ring()
    return true
  }
  const arrive = (untilMs: number): void => {
    // A ring may have moved the clock even further.
    passedMs = Math.max(passedMs, untilMs)
  }
  const advance = (byMs: number): void => {
    const untilMs = passedMs + wholeNumber('byMs', byMs, 0)
    while (ringNext(untilMs));
    arrive(untilMs)
  }

  return {
    nowMs,
    advance,
    set(toMs) {
      const byMs = wholeNumber('toMs', toMs, 0) - nowMs()
      if (byMs < 0) offsetMs += byMs
      else advance(byMs)
    },
    async run(byMs) {
      const untilMs = passedMs + wholeNumber('byMs', byMs, 0)
      do await new Promise<void>((settled) => nextTurn(settled))
      while (ringNext(untilMs))
      arrive(untilMs)
    },
    timer(afterMs, ring) {
      const waitMs = afterMs === Number.POSITIVE_INFINITY ? afterMs : wholeNumber('afterMs', afterMs, 0)
      const timer = { dueMs: passedMs + waitMs, ring }
      timers.add(timer)
      return () => {
        timers.delete(timer)
      }
    },
    get pendingTimers() {
      return timers.size
    },
  }
}

function earliest(timers: Iterable<Timer>): Timer | undefined {
  let first: Timer | undefined
  for (const timer of timers) if (first === undefined || timer.dueMs < first.dueMs) first = timer
  return first
}
