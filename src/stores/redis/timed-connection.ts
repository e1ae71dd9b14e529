import { startTimer, timerNowMs } from '../../core/clock.ts'
import type { Delivery, RedisConnection } from './redis-connection.ts'

/**
 * A connection whose commands are given up, and withdrawn where that is possible, when nobody waits for their replies any more.
 * One timer for all of them, which keeps no process alive: it is set for the oldest, and ends when it finds none.
 */
export class TimedConnection {
  readonly #connection: RedisConnection
  #deadlineMs: number | undefined
  #oldest: Call | undefined
  #newest: Call | undefined
  #isTimerSet = false

  constructor(connection: RedisConnection) {
    this.#connection = connection
  }

  /** Tells how long somebody waits for a reply. The longest that was told counts; as long as none was, commands wait for ever. */
  waitAtMost(deadlineMs: number): void {
    this.#deadlineMs = Math.max(this.#deadlineMs ?? 0, deadlineMs)
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
    const deadlineMs = this.#deadlineMs
    if (deadlineMs === undefined) return untimed(send)
    return new Promise((resolve, reject) => {
      const call = this.#add(new Call(timerNowMs(undefined) + deadlineMs, deadlineMs, reject))
      const fail = (error: unknown): void => {
        this.#remove(call)
        reject(error)
      }
      try {
        Promise.resolve(send(call)).then((reply) => {
          this.#remove(call)
          resolve(reply)
        }, fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  #add(call: Call): Call {
    call.older = this.#newest
    if (this.#newest === undefined) this.#oldest = call
    else this.#newest.newer = call
    this.#newest = call
    if (!this.#isTimerSet) this.#setTimer(call)
    return call
  }

  #remove(call: Call): void {
    if (call.isOver) return
    call.isOver = true
    if (call.older === undefined) this.#oldest = call.newer
    else call.older.newer = call.newer
    if (call.newer === undefined) this.#newest = call.older
    else call.newer.older = call.older
  }

  #setTimer({ dueMs }: Call): void {
    this.#isTimerSet = true
    startTimer(undefined, Math.max(0, dueMs - timerNowMs(undefined)), this.#ring, { keepsAlive: false })
  }

  readonly #ring = (): void => {
    const nowMs = timerNowMs(undefined)
    // A process that was busy for long has not read yet what was answered in time: a turn of the event loop reads it.
    if (this.#oldest !== undefined && this.#oldest.dueMs <= nowMs) setImmediate(() => this.#giveUp(nowMs))
    else this.#goOn()
  }

  #giveUp(nowMs: number): void {
    for (let call = this.#oldest; call !== undefined && call.dueMs <= nowMs; call = this.#oldest) {
      this.#remove(call)
      call.giveUp()
    }
    this.#goOn()
  }

  #goOn(): void {
    this.#isTimerSet = false
    if (this.#oldest !== undefined) this.#setTimer(this.#oldest)
  }
}

function untimed(send: (call: undefined) => Promise<unknown>): Promise<unknown> {
  try {
    return Promise.resolve(send(undefined))
  } catch (error) {
    return Promise.reject(error)
  }
}

/** A command that was not answered yet, among those that came before and after it: the due times are in that order too. */
class Call implements Delivery {
  readonly dueMs: number
  readonly #deadlineMs: number
  readonly #reject: (error: Error) => void
  #withdraw: (() => void) | undefined
  older: Call | undefined
  newer: Call | undefined
  isOver = false

  constructor(dueMs: number, deadlineMs: number, reject: (error: Error) => void) {
    this.dueMs = dueMs
    this.#deadlineMs = deadlineMs
    this.#reject = reject
  }

  onWithdraw(withdraw: () => void): void {
    this.#withdraw = withdraw
  }

  giveUp(): void {
    this.#reject(new Error(`no answer within ${this.#deadlineMs} ms`))
    try {
      this.#withdraw?.()
    } catch {
      // Whoever waited has been told already, and the next ones must be.
    }
  }
}
