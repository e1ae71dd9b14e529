import { type Clock, startTimer, timerNowMs } from '../../core/clock.ts'
import type { Reply } from '../../core/store.ts'
import { NotSent } from './clients/not-connected.ts'
import type { Delivery, RedisConnection } from './clients/redis-connection.ts'
import { isOnTheMove } from './clients/server-words.ts'

/** Who waits for the reply to a command. */
export interface Answer {
  done(reply: unknown): void
  failed(error: unknown): void
}

/** What a command needs to know on its way. */
export interface PendingCommandOptions {
  readonly connection: RedisConnection
  readonly key: string
  /** Until when it is sent again if a Cluster has not run it, by the timers' time. 0: never. Absent: for a second. */
  readonly untilMs?: number | undefined
  /** Withdraws it when no caller waits any more. */
  readonly cancellation?: Cancellation | undefined
  /** Whose timers it goes by; absent: real time. */
  readonly clock?: Clock | undefined
  /** What to send after an error that says that nothing has run. */
  replaceAfter?(error: unknown): readonly string[] | undefined
  /** An error as the caller gets it. */
  explain?(error: unknown): Error
}

/** The pause before a command is sent again, twice as long each time after, up to the longest. */
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 80
const PATIENCE_MS = 1_000

/** A command that was not answered yet. It tells who waits once, and is written once at most, unless nothing has run. */
export class PendingCommand implements Delivery {
  readonly #options: PendingCommandOptions
  readonly #answer: Answer
  #command: readonly string[]
  #isOver = false
  #withdraw: (() => void) | undefined
  #pauseMs = FIRST_PAUSE_MS
  #untilMs: number | undefined

  constructor(command: readonly string[], options: PendingCommandOptions, answer: Answer) {
    this.#command = command
    this.#options = options
    this.#answer = answer
    this.#untilMs = options.untilMs
    options.cancellation?.add(this)
  }

  onWithdraw(withdraw: () => void): void {
    this.#withdraw = withdraw
  }

  /** Sends it. */
  send(): void {
    const { connection, key, cancellation } = this.#options
    try {
      const sent = connection.send(key, this.#command, cancellation === undefined ? undefined : this)
      Promise.resolve(sent).then(
        (reply) => {
          if (connection.trouble?.error !== undefined) connection.trouble.over()
          if (this.#isOver) return
          this.#isOver = true
          this.#answer.done(reply)
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
    this.#tell(this.#options.connection.trouble?.error ?? reason)
  }

  #failed(error: unknown): void {
    if (this.#isOver) return
    const replacement = this.#options.replaceAfter?.(error)
    if (replacement !== undefined) {
      this.#command = replacement
      this.send()
    } else if (isOnTheMove(error) && this.#hasTimeFor(this.#pauseMs)) this.#sendLater(error)
    else this.#end(error)
  }

  #end(error: unknown): void {
    const { trouble } = this.#options.connection
    this.#isOver = true
    // Some clients send commands although the server has refused their password, and say that right after.
    if (trouble !== undefined && isKeptOut(error)) setImmediate(() => this.#tell(trouble.error ?? error))
    else this.#tell(error)
  }

  #tell(error: unknown): void {
    this.#answer.failed(this.#options.explain?.(error) ?? error)
  }

  #sendLater(error: unknown): void {
    const ring = (): void => {
      // A busy process may have slept through it.
      if (this.#hasTimeFor(0)) this.send()
      else this.#end(error)
    }
    // To withdraw it is now not to send it.
    this.#withdraw = startTimer(this.#options.clock, this.#pauseMs, ring, { keepsAlive: false })
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }

  // What is sent after the caller has given up would count for no caller.
  #hasTimeFor(pauseMs: number): boolean {
    const nowMs = timerNowMs(this.#options.clock)
    this.#untilMs ??= nowMs + PATIENCE_MS
    return nowMs + pauseMs < this.#untilMs
  }
}

/** Withdraws the commands of some decisions when the callers of all of them have given up. */
export class Cancellation {
  /** Why no caller waits any more; absent while one does. */
  reason: Error | undefined = undefined
  #waiting = 0
  readonly #commands: PendingCommand[] = []

  /** Another caller waits. */
  join(reply: Reply): void {
    this.#waiting++
    this.reason = undefined
    reply.onTimeout?.(this.#leave)
  }

  /** Another command is on its way. */
  add(command: PendingCommand): void {
    this.#commands.push(command)
  }

  readonly #leave = (reason: Error): void => {
    this.#waiting--
    if (this.#waiting > 0) return
    this.reason = reason
    for (const command of this.#commands) command.withdraw(reason)
  }
}

function isKeptOut(error: unknown): boolean {
  return error instanceof NotSent || (error instanceof Error && error.message.startsWith('NOAUTH '))
}
