import { type Alarm, type Clock, startAlarm, timerNowMs } from './clock.ts'
import { nextTurn } from './next-turn.ts'
import { isRequestBound } from './request-bound.ts'

/** Something that waits for an answer, and does not wait for ever. */
export interface Timed {
  /** When it is due, by the deadlines' own time. They set it. */
  dueMs: number
  /** Whether it has its answer, whatever that is. They set it. */
  isOver: boolean
  /** It is due, and there was no answer. It is over then. */
  expire(): void
}

/** What waits for answers, all of it equally long: so the first to come is the first to be due, and one timer does. */
export class Timeouts {
  readonly deadlineMs: number
  readonly #clock: Clock | undefined
  readonly #keepsAlive: boolean
  #waiting: Timed[] = []
  #first = 0
  #pending = 0
  #alarm: Alarm | undefined
  /** Where a timer ends with its request, each that waits has its own. */
  readonly #alarms: WeakMap<Timed, Alarm> | undefined
  /** When it rings: a clock that was set back meanwhile is no reason to wait longer. */
  #ringsMs = 0
  #idle: (() => void)[] = []

  /** @param keepsAlive whether the process stays alive while somebody waits. When nobody does, it never has to. */
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

  /** Lets something wait, from now on. */
  add(waiting: Timed): void {
    const nowMs = timerNowMs(this.#clock)
    waiting.dueMs = nowMs + this.deadlineMs
    if (this.#alarms !== undefined) {
      this.#alarms.set(
        waiting,
        startAlarm(this.deadlineMs, () => this.#end(waiting)),
      )
      this.#pending++
      return
    }
    if (this.#alarm === undefined) this.#arm(nowMs, waiting.dueMs)
    else if (this.#pending === 0 && this.#keepsAlive) this.#alarm.keepAlive(true)
    // A timer that could not be started leaves nothing behind that waits for it.
    this.#waiting.push(waiting)
    this.#pending++
  }

  /** It has its answer. Says false when it had one before. */
  end(waiting: Timed): boolean {
    if (waiting.isOver) return false
    waiting.isOver = true
    this.#alarms?.get(waiting)?.stop()
    this.#pending--
    if (this.#pending === 0) this.#rest()
    else this.#forget()
    return true
  }

  /** Resolves when nothing waits: after `deadlineMs` at the latest, if nothing is added. */
  async idle(): Promise<void> {
    if (this.#pending > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Takes the timer away, which may be left for whoever asks next. */
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

  // A process that was busy for so long has the answers, but has not read them: it reads before the next turn.
  readonly #rung = (): void => nextTurn(this.#expire)

  readonly #expire = (): void => {
    this.#alarm = undefined
    const nowMs = timerNowMs(this.#clock)
    const untilMs = Math.max(nowMs, this.#ringsMs)
    for (let first = this.#head(); first !== undefined && first.dueMs <= untilMs; first = this.#head()) {
      this.#end(first)
    }
    const next = this.#head()
    if (next !== undefined && this.#alarm === undefined) this.#arm(nowMs, next.dueMs)
  }

  #end(due: Timed): void {
    this.end(due)
    due.expire()
  }

  #head(): Timed | undefined {
    return this.#waiting[this.#first]
  }

  // All that are over, also behind one that never has its answer: as many as wait may be left of them, and a few.
  #forget(): void {
    while (this.#head()?.isOver === true) this.#first++
    if (this.#waiting.length < 2 * this.#pending + MOST_OVER) return
    this.#waiting = this.#waiting.filter(({ isOver }) => !isOver)
    this.#first = 0
  }

  // Left armed where it may ring for nobody, for whoever asks next: to start it anew each time would cost more than all the rest.
  // Elsewhere it is stopped: in a Worker a timer ends with the request that started it, and the next one would wait in vain.
  #rest(): void {
    this.#waiting.length = 0
    this.#first = 0
    if (this.#alarm?.keepAlive(false) === false) this.#disarm()
    const idle = this.#idle
    this.#idle = []
    for (const tell of idle) tell()
  }
}

/** So many that are over are not worth the while of forgetting them. */
const MOST_OVER = 512
