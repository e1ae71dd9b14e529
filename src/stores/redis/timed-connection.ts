import type { Clock } from '../../core/clock.ts'
import { Timeouts } from '../../core/timeouts.ts'
import type { RedisConnection } from './clients/redis-connection.ts'
import { TimedCall } from './timed-call.ts'

/**
 * A connection whose commands are given up, and withdrawn where that is possible, when nobody waits for their replies any more.
 * Until then it sends again what a Cluster did not run because a slot is on the move. Its timer keeps no process alive, and is not set
 * again when nothing waits.
 */
export class TimedConnection {
  readonly #connection: RedisConnection
  readonly #clock: Clock | undefined
  #timeouts: Timeouts | undefined

  /** @param clock whose timers it goes by; absent: real time. */
  constructor(connection: RedisConnection, clock?: Clock) {
    this.#connection = connection
    this.#clock = clock
  }

  /** Tells how long somebody waits for a reply. The longest that was told counts; as long as none was, commands wait for ever. */
  waitAtMost(deadlineMs: number): void {
    const known = this.#timeouts
    if (known !== undefined && known.deadlineMs >= deadlineMs) return
    this.#timeouts = new Timeouts(deadlineMs, this.#clock, { keepsAlive: false })
    // What was sent before keeps its deadline.
    known?.close()
  }

  /**
   * As the connection does, and rejects when there was no answer in time.
   *
   * @param untilMs when it is not to be sent again any more, by the timers' time.
   */
  send(key: string, command: readonly string[], untilMs?: number): Promise<unknown> {
    const isTimed = this.#timeouts !== undefined
    return this.#timed((call) => this.#connection.send(key, command, isTimed ? call : undefined), untilMs)
  }

  /** As the connection does, and rejects when there was no answer in time. */
  sendToAll(command: readonly string[]): Promise<unknown> {
    return this.#timed(() => this.#connection.sendToAll(command))
  }

  // Neither an async function nor a race: each promise lets every decision wait a little longer.
  #timed(send: (call: TimedCall) => Promise<unknown>, untilMs?: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { trouble } = this.#connection
      new TimedCall(send, { deadlines: this.#timeouts, clock: this.#clock, trouble, untilMs, resolve, reject }).begin()
    })
  }
}
