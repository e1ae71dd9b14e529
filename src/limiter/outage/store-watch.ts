import { type Clock, startTimer } from '../../core/clock.ts'
import { Deadlines, type Waiting } from '../../core/deadlines.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { isNoAnswer, NoAnswer } from '../../core/no-answer.ts'
import type { Store } from '../../core/store.ts'
import { Asking } from './asking.ts'
import { type Breaker, breakerOf, type Health, type Marks, type Member } from './breaker.ts'
import { failureOf, kindOfFailure } from './store-failure.ts'

/** A question to the store that waits for its answer. */
export interface Question extends Waiting, Marks {}

/** Sees to it that a limiter's questions to its store are answered in time, and that a store that fails is left alone. */
export class StoreWatch {
  readonly #deadlines: Deadlines
  readonly #breaker: Breaker
  readonly #clock: Clock | undefined
  readonly #leave: () => void
  readonly #store: Store
  #late: Error | undefined

  /** @param member is told when the store is left alone and when it is back. */
  constructor(store: Store, deadlineMs: number, clock: Clock | undefined, member: Member) {
    this.#store = store
    this.#deadlines = new Deadlines(deadlineMs, clock)
    this.#breaker = breakerOf(store, clock)
    this.#leave = this.#breaker.join(member)
    this.#clock = clock
  }

  /** Whether the store may be asked. */
  get isAsking(): boolean {
    return !this.#breaker.isOpen
  }

  get health(): Health {
    return this.#breaker.health
  }

  /** A question is put to the store: its time runs from now. */
  begin(question: Question): void {
    const { answers, failures } = this.#breaker
    question.answers = answers
    question.failures = failures
    this.#deadlines.add(question)
  }

  /** The store has answered. Says false when that was too late. */
  answered(question: Question): boolean {
    if (!this.#deadlines.end(question)) return false
    this.#breaker.answered()
    return true
  }

  /** The store has failed. Says false when that was too late. */
  failed(question: Question, given: unknown): boolean {
    if (!this.#deadlines.end(question)) return false
    const error = failureOf(given)
    const kind = kindOfFailure(error)
    // Who gives up first, the store, its client or this limiter, makes no difference.
    if (kind === 'down' && isNoAnswer(error)) this.#breaker.missed(error, question)
    else if (kind === 'down') this.#breaker.failed(error, question)
    else if (kind === 'denied') this.#breaker.denied(error, question)
    else this.#breaker.answered()
    return true
  }

  /** There was no answer in time. Makes the error that says so. */
  missed(question: Question): Error {
    const error = this.#late ?? this.#lateness()
    this.#breaker.missed(error, question)
    return error
  }

  // One for all that are late at once: it takes longer to make than a decision.
  #lateness(): Error {
    const { deadlineMs } = this.#deadlines
    const cause = new NoAnswer(`no answer within ${deadlineMs} ms`)
    const message = `the store gave no answer within ${deadlineMs} ms, the deadline`
    const error = this.#store.trouble?.() ?? new LimiterError('STORE_FAILED', message, { cause })
    this.#late = error
    queueMicrotask(() => {
      this.#late = undefined
    })
    return error
  }

  /** Why the store is not asked. */
  reason(): LimiterError {
    const { error, forMs } = this.#breaker.health
    const why = error instanceof Error ? error.message : String(error)
    const message = `the store was not asked, so nothing was counted: for ${forMs} ms it has failed (${why})`
    const code = kindOfFailure(error) === 'denied' ? 'STORE_DENIED' : 'STORE_FAILED'
    return new LimiterError(code, message, { cause: error })
  }

  /**
   * Asks the store for anything. Rejects with what went wrong, at the deadline at the latest.
   *
   * @param isRepeatable whether it may be asked again when it has failed: the store then counts it once.
   */
  ask<Answer>(ask: () => Answer | Promise<Answer>, isRepeatable = false): Promise<Answer> {
    return new Promise((resolve, reject) => new Asking(this, ask, isRepeatable, resolve, reject).begin())
  }

  /** Calls `ring` after so long, by the time that deadlines go by. */
  after(pauseMs: number, ring: () => void): () => void {
    return startTimer(this.#clock, pauseMs, ring)
  }

  /** Resolves when something is done, and after so long at the latest. */
  within(longestMs: number, done: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = this.after(longestMs, resolve)
      done.finally(stop).then(resolve, reject)
    })
  }

  /** Resolves when nothing waits for the store any more: by the deadline of what was asked last. */
  idle(): Promise<void> {
    return this.#deadlines.idle()
  }

  /** Ends the watch. */
  close(): void {
    this.#leave()
    this.#deadlines.close()
  }
}
