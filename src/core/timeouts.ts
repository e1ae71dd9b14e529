import { type Alarm, type Clock, nextTurn, startAlarm, timerNowMs } from './clock.ts'
import { isRequestBound } from './request-bound.ts'

/** A call that waits for an answer until its timeout. */
export interface Timed {
  /** When it times out, by the time of `Timeouts`, which sets this. */
  dueMs: number
  /** Whether it was answered or timed out. `Timeouts` sets this. */
  isOver: boolean
  /** It has timed out without an answer. */
  expire(): void
}

/** Calls that wait for answers, each for the same time: so the first to come is the first to time out, and one timer is enough. */
export class Timeouts {
  readonly deadlineMs: number
  readonly #clock: Clock | undefined
  readonly #keepsAlive: boolean
  /** Up to `#first` they are over, and left out: what is done with need not be kept in memory. */
  #waiting: (Timed | undefined)[] = []
  #first = 0
  #pending = 0
  #alarm: Alarm | undefined
  /** Where a timer ends with its request, each call that waits has its own. */
  readonly #alarms: WeakMap<Timed, Alarm> | undefined
  /** When the timer rings: a clock that was set back meanwhile is no reason to wait longer. */
  #ringsMs = 0
  #idle: (() => void)[] = []

  /** @param keepsAlive whether the process stays alive while a call waits. */
  constructor(
    deadlineMs: number,
    clock: Clock | undefined,
    { keepsAlive = true }: { readonly keepsAlive?: boolean } = {},
  ) {
    this.deadlineMs = deadlineMs
    this.#clock = clock
    this.#keepsAlive = keepsAlive
    this.#alarms = clock?.timer === undefined && isRequestBound() ? new WeakMap() : undefined
  }

  /** Starts the timeout of a call, and returns when that was. */
  add(waiting: Timed): number {
    const nowMs = timerNowMs(this.#clock)
    waiting.dueMs = nowMs + this.deadlineMs
    if (this.#alarms !== undefined) {
      this.#alarms.set(
        waiting,
        startAlarm(this.deadlineMs, () => this.#timeOut(waiting)),
      )
      this.#pending++
      return nowMs
    }
    if (this.#alarm === undefined) this.#arm(nowMs, waiting.dueMs)
    else if (this.#pending === 0 && this.#keepsAlive) this.#alarm.keepAlive(true)
    // Last: when the timer cannot be started, no call waits for it.
    this.#waiting.push(waiting)
    this.#pending++
    return nowMs
  }

  /** A call was answered. Returns false when it was over before. */
  end(waiting: Timed): boolean {
    if (waiting.isOver) return false
    waiting.isOver = true
    this.#alarms?.get(waiting)?.stop()
    this.#pending--
    if (this.#pending === 0) {
      this.#rest()
      return true
    }
    while (this.#waiting[this.#first]?.isOver === true) this.#waiting[this.#first++] = undefined
    // Also those that are over behind one that waits, when they outnumber those that wait by more than `MOST_OVER`.
    if (this.#waiting.length >= 2 * this.#pending + MOST_OVER) {
      this.#waiting = this.#waiting.filter((one) => one?.isOver === false)
      this.#first = 0
    }
    return true
  }

  /** Resolves when no call waits: after `deadlineMs` at the latest, if none is added. */
  async idle(): Promise<void> {
    if (this.#pending > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Stops the timer, which may be left running for the next call. */
  close(): void {
    if (this.#pending === 0) this.#disarm()
  }

  #arm(nowMs: number, dueMs: number): void {
    const afterMs = Math.max(0, dueMs - nowMs)
    this.#ringsMs = dueMs
    if (this.#clock?.timer === undefined) {
      this.#alarm = startAlarm(afterMs, this.#rung)
      if (!this.#keepsAlive) this.#alarm.keepAlive(false)
    } else this.#alarm = { stop: this.#clock.timer(afterMs, this.#expire), keepAlive: () => false }
  }

  #disarm(): void {
    this.#alarm?.stop()
    this.#alarm = undefined
  }

  // A process that was busy until the timeout may have answers that it has not read: it reads them before the next turn.
  readonly #rung = (): void => nextTurn(this.#expire)

  readonly #expire = (): void => {
    this.#alarm = undefined
    const nowMs = timerNowMs(this.#clock)
    const untilMs = Math.max(nowMs, this.#ringsMs)
    for (;;) {
      const first = this.#waiting[this.#first]
      if (first === undefined || first.dueMs > untilMs) break
      this.#timeOut(first)
    }
    const next = this.#waiting[this.#first]
    if (next !== undefined && this.#alarm === undefined) this.#arm(nowMs, next.dueMs)
  }

  #timeOut(due: Timed): void {
    this.end(due)
    due.expire()
  }

  // Where a timer need not keep the process alive it stays for the next call: to start one for each call would cost more than all the
  // rest. Elsewhere it is stopped: in a Worker a timer ends with the request that started it, and the next call would wait without end.
  #rest(): void {
    // To set the length of an array takes longer than everything else here.
    if (this.#waiting.length === 1) this.#waiting.pop()
    else this.#waiting = []
    this.#first = 0
    if (this.#alarm?.keepAlive(false) === false) this.#disarm()
    const idle = this.#idle
    this.#idle = []
    for (const tell of idle) tell()
  }
}

/** Fewer calls that are over are kept: to remove them costs more. */
const MOST_OVER = 512
