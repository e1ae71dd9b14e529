import { type Clock, exactTimerNowMs, readClock, systemClock } from '../../core/clock.ts'

/** A time by the two clocks that a grant is timed by. It is over when either has passed its end: a machine that sleeps stops the first. */
export interface Moment {
  /** By the clock that never jumps, in milliseconds with fractions. */
  readonly nowMs: number
  /** By the limiter's clock, or the machine's. */
  readonly dateMs: number
}

/** What time it is. */
export function readMoment(clock: Clock | undefined): Moment {
  return { nowMs: exactTimerNowMs(clock), dateMs: clock === undefined ? systemClock.nowMs() : readClock(clock) }
}
