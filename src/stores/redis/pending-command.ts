import { type Clock, startTimer, timerNowMs } from '../../core/clock.ts'
import type { Reply } from '../../core/store.ts'
import { NotSent } from './clients/not-connected.ts'
import type { Delivery, RedisConnection } from './clients/redis-connection.ts'
import { isOnTheMove } from './clients/server-words.ts'

/** A command, and who waits for the reply to it. */
export interface Question {
  readonly command: readonly string[]
  readonly key: string
  /** Until when it is sent again if a Cluster has not run it, by the timers' time. 0: never. Absent: for a second. */
  readonly untilMs?: number | undefined
  /** Withdraws it when no caller waits any more. */
  readonly cancellation?: Cancellation | undefined
  /** Whose timers it goes by; absent: real time. */
  readonly clock?: Clock | undefined
  done(reply: unknown): void
  failed(error: unknown): void
}

/** Finds what to send after an error that says that nothing has run. */
export interface Replacement {
  replaceAfter(error: unknown, command: readonly string[]): readonly string[] | undefined
}

/** The pause before a command is sent again, twice as long each time after, up to the longest. */
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 80
const PATIENCE_MS = 1_000

/** A command that was not answered yet. It answers its caller once, and is written once at most, unless nothing has run. */
export class PendingCommand implements Delivery {
  readonly #connection: RedisConnection
  readonly #question: Question
  readonly #replacement: Replacement | undefined
  #command: readonly string[]
  #isOver = false
  #withdraw: (() => void) | undefined
  #pauseMs = FIRST_PAUSE_MS
  #untilMs: number | undefined

  constructor(connection: RedisConnection, question: Question, replacement?: Replacement) {
    this.#connection = connection
    this.#question = question
    this.#replacement = replacement
    this.#command = question.command
    this.#untilMs = question.untilMs
    question.cancellation?.commands.push(this)
  }

  onWithdraw(withdraw: () => void): void {
    this.#withdraw = withdraw
  }

  /** Sends it. */
  send(): void {
    const { key, cancellation } = this.#question
    const { trouble } = this.#connection
    try {
      const sent = this.#connection.send(key, this.#command, cancellation === undefined ? undefined : this)
      Promise.resolve(sent).then(
        (reply) => {
          if (trouble?.error !== undefined) trouble.over()
          if (this.#isOver) return
          this.#isOver = true
          this.#question.done(reply)
        },
        (error: unknown) => this.#failed(error),
      )
    } catch (error) {
      this.#failed(error)
    }
  }

  /** No caller waits any more: what is not written yet never is. */
  withdraw(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    try {
      this.#withdraw?.()
    } catch {
      // What the connection makes of it is no concern of those who wait.
    }
    this.#question.failed(this.#connection.trouble?.error ?? reason)
  }

  #failed(error: unknown): void {
    if (this.#isOver) return
    const replacement = this.#replacement?.replaceAfter(error, this.#command)
    if (replacement !== undefined) {
      this.#command = replacement
      this.send()
    } else if (isOnTheMove(error) && this.#hasTimeFor(this.#pauseMs)) this.#sendLater(error)
    else this.#end(error)
  }

  #end(error: unknown): void {
    const { trouble } = this.#connection
    this.#isOver = true
    // Some clients send commands although the server has refused their password, and say that right after.
    if (trouble !== undefined && isKeptOut(error)) setImmediate(() => this.#question.failed(trouble.error ?? error))
    else this.#question.failed(error)
  }

  #sendLater(error: unknown): void {
    const ring = (): void => {
      // A busy process may have slept through it.
      if (this.#hasTimeFor(0)) this.send()
      else this.#end(error)
    }
    // To withdraw it is now not to send it.
    this.#withdraw = startTimer(this.#question.clock, this.#pauseMs, ring, { keepsAlive: false })
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }

  // What is sent after the caller has given up would count for no caller.
  #hasTimeFor(pauseMs: number): boolean {
    const nowMs = timerNowMs(this.#question.clock)
    this.#untilMs ??= nowMs + PATIENCE_MS
    return nowMs + pauseMs < this.#untilMs
  }
}

/** Withdraws the commands of some decisions when the callers of all of them have given up. */
export class Cancellation {
  /** Why no caller waits any more; absent while one does. */
  reason: Error | undefined = undefined
  /** Those that are on their way. */
  readonly commands: PendingCommand[] = []
  #waiting = 0

  /** Another caller waits. */
  join(reply: Reply): void {
    this.#waiting++
    this.reason = undefined
    reply.onTimeout?.(this.#leave)
  }

  readonly #leave = (reason: Error): void => {
    this.#waiting--
    if (this.#waiting > 0) return
    this.reason = reason
    for (const command of this.commands) command.withdraw(reason)
  }
}

function isKeptOut(error: unknown): boolean {
  return error instanceof NotSent || (error instanceof Error && error.message.startsWith('NOAUTH '))
}
