import { show } from './check.ts'
import { LimiterError } from './limiter-error.ts'

/** Where a limiter takes its time from. */
export interface Clock {
  /** Whole milliseconds, not negative. It may step back or jump: rules guard against both. */
  nowMs(): number
}

/** The machine's clock. The only place in Sluice that reads it. */
export const systemClock: Clock = { nowMs: () => Date.now() }

/** Stands for "the store's own time": the server's for Redis, `systemClock` for memory. */
export const STORE_TIME = -1

/** Reads a clock once and throws when what it says is not a time. */
export function readClock(clock: Clock): number {
  const nowMs = clock.nowMs()
  if (Number.isSafeInteger(nowMs) && nowMs >= 0) return nowMs
  throw new LimiterError(
    'INVALID_TIME',
    `clock.nowMs() must return whole milliseconds of at least 0, got ${show(nowMs)}`,
  )
}
