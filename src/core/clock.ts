import { show } from './check.ts'
import { LimiterError } from './limiter-error.ts'

/** Where a limiter takes its time from. */
export interface Clock {
  /** Whole milliseconds, not negative. It may step back or jump: rules guard against both. */
  nowMs(): number
  /**
   * Calls `ring` once, `afterMs` from now and never before `timer` has returned, and returns the function that cancels it.
   * `Infinity` never rings. `wait()`, `schedule()`, the heartbeats of leases, and deadlines of stores that do not go by real time
   * go by it; absent: all of them by real time.
   */
  timer?(afterMs: number, ring: () => void): () => void
}

/** The machine's clock. The only place in Sluice that reads it. */
export const systemClock: Clock = { nowMs: () => Date.now() }

/** The date on the machine's clock after this number of milliseconds, for other libraries: Sluice itself reports durations. */
export function dateAfter(durationMs: number): Date {
  return new Date(systemClock.nowMs() + durationMs)
}

/** A time of a clock as text, in UTC and to the second: `2026-01-31 12:34:56Z`. */
export function timeText(atMs: number): string {
  return new Date(atMs).toISOString().replace('T', ' ').replace(/\.\d+/, '')
}

/** Stands for "the store's own time": the server's for Redis, `systemClock` for memory. */
export const STORE_TIME = -1

/** The longest that `setTimeout` can wait: anything above rings after 1 ms. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** Reads a clock once and throws when what it says is not a time. */
export function readClock(clock: Clock): number {
  const nowMs = clock.nowMs()
  if (Number.isSafeInteger(nowMs) && nowMs >= 0) return nowMs
  throw new LimiterError(
    'INVALID_TIME',
    `clock.nowMs() must return whole milliseconds of at least 0, got ${show(nowMs)}`,
  )
}

/**
 * Calls `ring` once after `afterMs`, never earlier, on the clock's own timer or else in real time, and returns the function that
 * cancels it. In real time `keepsAlive: false` lets the process end before it rings.
 */
export function startTimer(
  clock: Clock | undefined,
  afterMs: number,
  ring: () => void,
  { keepsAlive = true }: { readonly keepsAlive?: boolean } = {},
): () => void {
  if (clock?.timer !== undefined) return clock.timer(afterMs, ring)
  const alarm = startAlarm(afterMs, ring)
  if (!keepsAlive) alarm.keepAlive(false)
  return () => alarm.stop()
}

/** Calls `run` in the next turn of the event loop: what has arrived by now is read first. Browsers have a timer for it only. */
export function nextTurn(run: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(run)
  else setTimeout(run, 0)
}

/** A timer in real time that may be left to ring when no caller waits for it. */
export interface Alarm {
  /**
   * Whether the process stays alive until it rings. It does at first. Answers false where that is unknown: where a timer is a
   * number, as in browsers, jsdom and Workers.
   */
  keepAlive(isNeeded: boolean): boolean
  stop(): void
}

/** Calls `ring` once after `afterMs` of real time, never earlier. */
export function startAlarm(afterMs: number, ring: () => void): Alarm {
  const dueMs = performance.now() + afterMs
  const arm = (leftMs: number): Timeout => setTimeout(check, Math.min(Math.ceil(leftMs), LONGEST_TIMEOUT_MS))
  let isNeededNow = true
  const keepAlive = (isNeeded: boolean): boolean => {
    isNeededNow = isNeeded
    if (typeof timeout === 'number') return false
    if (isNeeded) timeout.ref()
    else timeout.unref()
    return true
  }
  // Node counts in whole milliseconds from a time it read earlier: it may be up to one too soon.
  const check = (): void => {
    const leftMs = dueMs - performance.now()
    if (leftMs > 0) {
      timeout = arm(leftMs)
      keepAlive(isNeededNow)
    } else ring()
  }
  let timeout = arm(afterMs)
  return { keepAlive, stop: () => clearTimeout(timeout) }
}

/** What `setTimeout` returns in the runtimes that there are. */
type Timeout = NodeJS.Timeout | number

/**
 * The time by which `startTimer` rings, in whole milliseconds: that of a clock with timers of its own, otherwise the time since
 * the process started, which does not jump when the machine's clock is set. Good for differences only.
 */
export function timerNowMs(clock: Clock | undefined): number {
  return Math.floor(clock?.timer === undefined ? performance.now() : readClock(clock))
}

/** As `timerNowMs`, with the fractions of a millisecond that real time has: to measure how long something took. */
export function exactTimerNowMs(clock: Clock | undefined): number {
  return clock?.timer === undefined ? performance.now() : readClock(clock)
}

/** The time by which a limiter measures: its caller's own, or where the store has its own, one that never jumps. */
export function localTimeMs(nowMs: number): number {
  return nowMs === STORE_TIME ? timerNowMs(undefined) : nowMs
}
