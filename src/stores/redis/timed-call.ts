import { type Clock, startTimer, timerNowMs } from '../../core/clock.ts'
import { NoAnswer } from '../../core/no-answer.ts'
import type { Timed, Timeouts } from '../../core/timeouts.ts'
import { NotSent } from './clients/not-connected.ts'
import { isOnTheMove } from './clients/server-words.ts'
import type { Delivery, Trouble } from './clients/redis-connection.ts'

/** What a call needs to know of its time, and who waits for it. */
export interface TimedCallOptions {
  /** Those that it is given up by; absent: never. */
  readonly deadlines: Timeouts | undefined
  readonly clock: Clock | undefined
  readonly trouble: Trouble | undefined
  /** When it is not sent again any more, by the timers' time. Absent: when it is given up. */
  readonly untilMs: number | undefined
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The pause before a command is sent again, twice as long each time after, up to the longest. */
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 80
/** For so long it is sent again where nobody has said how long somebody waits. */
const PATIENCE_MS = 1_000

/** A command that was not answered yet. */
export class TimedCall implements Delivery, Timed {
  dueMs = 0
  isOver = false
  readonly #send: (call: TimedCall) => Promise<unknown>
  readonly #options: TimedCallOptions
  #withdraw: (() => void) | undefined
  #pauseMs = FIRST_PAUSE_MS
  #untilMs: number | undefined

  constructor(send: (call: TimedCall) => Promise<unknown>, options: TimedCallOptions) {
    this.#send = send
    this.#options = options
  }

  /** Sends it, and lets its time run. */
  begin(): void {
    this.#options.deadlines?.add(this)
    this.#try()
  }

  onWithdraw(withdraw: () => void): void {
    this.#withdraw = withdraw
  }

  expire(): void {
    const { deadlines, trouble, reject } = this.#options
    reject(trouble?.error ?? new NoAnswer(`no answer within ${deadlines?.deadlineMs} ms`))
    try {
      this.#withdraw?.()
    } catch {
      // Whoever waited has been told already, and the next ones must be.
    }
  }

  #try(): void {
    try {
      Promise.resolve(this.#send(this)).then(
        (reply) => {
          const { deadlines, trouble, resolve } = this.#options
          deadlines?.end(this)
          trouble?.over()
          resolve(reply)
        },
        (error: unknown) => this.#failed(error),
      )
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    if (!this.isOver && isOnTheMove(error) && this.#hasTimeFor(this.#pauseMs)) this.#sendLater(error)
    else this.#end(error)
  }

  #end(error: unknown): void {
    const { deadlines, trouble, reject } = this.#options
    deadlines?.end(this)
    // Some clients send commands although the server has refused their password, and say that right after.
    if (trouble !== undefined && isKeptOut(error)) setImmediate(() => reject(trouble.error ?? error))
    else reject(error)
  }

  #sendLater(error: unknown): void {
    const ring = (): void => {
      // A busy process may have slept through it.
      if (this.#hasTimeFor(0)) this.#try()
      else this.#end(error)
    }
    // To withdraw it is now not to send it.
    this.#withdraw = startTimer(this.#options.clock, this.#pauseMs, ring, { keepsAlive: false })
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }

  // What is sent when nobody waits any more would count for nobody.
  #hasTimeFor(pauseMs: number): boolean {
    const { deadlines, clock, untilMs } = this.#options
    const nowMs = timerNowMs(clock)
    this.#untilMs ??= untilMs ?? (deadlines === undefined ? nowMs + PATIENCE_MS : this.dueMs)
    return nowMs + pauseMs < this.#untilMs
  }
}

function isKeptOut(error: unknown): boolean {
  return error instanceof NotSent || (error instanceof Error && error.message.startsWith('NOAUTH '))
}
