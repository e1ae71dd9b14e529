import type { Clock } from '../../core/clock.ts'
import { Deadlines, type Waiting } from '../../core/deadlines.ts'
import type { Delivery, RedisConnection } from './redis-connection.ts'

/**
 * A connection whose commands are given up, and withdrawn where that is possible, when nobody waits for their replies any more.
 * Its timer keeps no process alive, and is not set again when nothing waits.
 */
export class TimedConnection {
  readonly #connection: RedisConnection
  readonly #clock: Clock | undefined
  #deadlines: Deadlines | undefined

  /** @param clock whose timers it goes by; absent: real time. */
  constructor(connection: RedisConnection, clock?: Clock) {
    this.#connection = connection
    this.#clock = clock
  }

  /** Tells how long somebody waits for a reply. The longest that was told counts; as long as none was, commands wait for ever. */
  waitAtMost(deadlineMs: number): void {
    const known = this.#deadlines
    if (known !== undefined && known.deadlineMs >= deadlineMs) return
    this.#deadlines = new Deadlines(deadlineMs, this.#clock, { keepsAlive: false })
    // What was sent before keeps its deadline.
    known?.close()
  }

  /** As the connection does, and rejects when there was no answer in time. */
  send(key: string, command: readonly string[]): Promise<unknown> {
    return this.#timed((call) => this.#connection.send(key, command, call))
  }

  /** As the connection does, and rejects when there was no answer in time. */
  sendToAll(command: readonly string[]): Promise<unknown> {
    return this.#timed(() => this.#connection.sendToAll(command))
  }

  // Neither an async function nor a race: each promise lets every decision wait a little longer.
  #timed(send: (call: Call | undefined) => Promise<unknown>): Promise<unknown> {
    const deadlines = this.#deadlines
    if (deadlines === undefined) return untimed(send)
    return new Promise((resolve, reject) => {
      const call = new Call(deadlines.deadlineMs, reject)
      deadlines.add(call)
      const fail = (error: unknown): void => {
        deadlines.end(call)
        reject(error)
      }
      try {
        Promise.resolve(send(call)).then((reply) => {
          deadlines.end(call)
          resolve(reply)
        }, fail)
      } catch (error) {
        fail(error)
      }
    })
  }
}

function untimed(send: (call: undefined) => Promise<unknown>): Promise<unknown> {
  try {
    return Promise.resolve(send(undefined))
  } catch (error) {
    return Promise.reject(error)
  }
}

/** A command that was not answered yet. */
class Call implements Delivery, Waiting {
  dueMs = 0
  isOver = false
  readonly #deadlineMs: number
  readonly #reject: (error: Error) => void
  #withdraw: (() => void) | undefined

  constructor(deadlineMs: number, reject: (error: Error) => void) {
    this.#deadlineMs = deadlineMs
    this.#reject = reject
  }

  onWithdraw(withdraw: () => void): void {
    this.#withdraw = withdraw
  }

  expire(): void {
    this.#reject(new Error(`no answer within ${this.#deadlineMs} ms`))
    try {
      this.#withdraw?.()
    } catch {
      // Whoever waited has been told already, and the next ones must be.
    }
  }
}
