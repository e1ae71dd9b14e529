import type { LimitResult } from '../../core/decision.ts'
import type { Reply, StoreCall } from '../../core/store.ts'
import type { Timed } from '../../core/timeouts.ts'
import type { Marks } from './circuit-breaker.ts'
import { failureOf, kindOfFailure } from './store-failure.ts'
import type { StoreWatch } from './store-watch.ts'

/** The pause before a call is sent again, and twice as long each time after. */
const FIRST_PAUSE_MS = 20

/** Sends calls, and answers those that fail. */
export interface Sender {
  readonly watch: StoreWatch
  send(call: StoreCall, reply: Reply): void
  /** Answers a call that the store did not answer. Absent: the caller hears what went wrong, and nothing is sent again. */
  answerInstead?(call: StoreCall, reply: Reply, error: unknown): void
}

/** A call that waits for its store, until its timeout at the latest. */
export class PendingCall implements Timed, Marks, Reply {
  dueMs = 0
  isOver = false
  answers = 0
  failures = 0
  readonly #sender: Sender
  readonly #call: StoreCall
  readonly #reply: Reply
  #pauseMs = FIRST_PAUSE_MS
  #stop: (() => void) | undefined
  /** What went wrong last. */
  #error: unknown

  constructor(sender: Sender, call: StoreCall, reply: Reply) {
    this.#sender = sender
    this.#call = call
    this.#reply = reply
  }

  begin(): void {
    this.#sender.watch.begin(this)
    this.#sender.send(this.#call, this)
  }

  done(results: readonly LimitResult[]): void {
    if (this.#sender.watch.answered(this)) this.#reply.done(results)
  }

  failed(given: unknown): void {
    const error = failureOf(given)
    this.#error = error
    if (this.#mayRetry(error)) this.#retryLater()
    else if (this.#sender.watch.failed(this, error)) this.#answerInstead(error)
  }

  expire(): void {
    this.#stop?.()
    const missed = this.#sender.watch.missed(this)
    this.#answerInstead(this.#error ?? missed)
  }

  #answerInstead(error: unknown): void {
    const sender = this.#sender
    if (sender.answerInstead === undefined) this.#reply.failed(error)
    else sender.answerInstead(this.#call, this.#reply, error)
  }

  // Only what has an idempotency key: the store then counts it once.
  #mayRetry(error: unknown): boolean {
    const { watch, answerInstead } = this.#sender
    if (answerInstead === undefined || this.#call.idempotency === undefined || this.isOver) return false
    return watch.isAsking && kindOfFailure(error) === 'down'
  }

  #retryLater(): void {
    this.#stop = this.#sender.watch.after(this.#pauseMs, () => this.#sender.send(this.#call, this))
    this.#pauseMs *= 2
  }
}
