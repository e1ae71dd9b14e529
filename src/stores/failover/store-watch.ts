import { type Clock, startTimer } from '../../core/clock.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { isNoAnswer, NoAnswer } from '../../core/no-answer.ts'
import type { Store } from '../../core/store.ts'
import { type Timed, Timeouts } from '../../core/timeouts.ts'
import { type BreakerListener, type CircuitBreaker, type Health, joinBreaker, type Marks } from './circuit-breaker.ts'
import { failureOf, kindOfFailure } from './store-failure.ts'

/** A call that waits for its store. */
interface WatchedCall extends Timed, Marks {}

/** Times a limiter's calls to its store, and tells the circuit breaker how they end. */
export class StoreWatch {
  readonly #timeouts: Timeouts
  readonly #breaker: CircuitBreaker
  readonly #clock: Clock | undefined
  readonly #leave: () => void
  readonly #store: Store
  #late: Error | undefined

  /** @param listener hears when the store is left alone and when it is back. */
  constructor(store: Store, deadlineMs: number, clock: Clock | undefined, listener: BreakerListener) {
    this.#store = store
    this.#timeouts = new Timeouts(deadlineMs, clock)
    this.#breaker = joinBreaker(store, clock)
    this.#leave = this.#breaker.join(listener)
    this.#clock = clock
  }

  /** Whether the store may be asked. */
  get isAsking(): boolean {
    return !this.#breaker.isOpen
  }

  get health(): Health {
    return this.#breaker.health
  }

  /** A call goes to the store: its time runs from now. */
  begin(call: WatchedCall): void {
    const { answers, failures } = this.#breaker
    call.answers = answers
    call.failures = failures
    this.#timeouts.add(call)
  }

  /** The store has answered. Says false when that was too late. */
  answered(call: WatchedCall): boolean {
    if (!this.#timeouts.end(call)) return false
    this.#breaker.answered()
    return true
  }

  /** The store has failed. Says false when that was too late. */
  failed(call: WatchedCall, given: unknown): boolean {
    if (!this.#timeouts.end(call)) return false
    const error = failureOf(given)
    const kind = kindOfFailure(error)
    // Who gives up first, the store, its client or this limiter, makes no difference.
    if (kind === 'down' && isNoAnswer(error)) this.#breaker.missed(error, call)
    else if (kind === 'down') this.#breaker.failed(error, call)
    else if (kind === 'denied') this.#breaker.denied(error, call)
    else this.#breaker.answered()
    return true
  }

  /** There was no answer in time. Makes the error that says so. */
  missed(call: WatchedCall): Error {
    const error = this.#late ?? this.#lateness()
    this.#breaker.missed(error, call)
    return error
  }

  // One for all that are late at once: it takes longer to make than a decision.
  #lateness(): Error {
    const { deadlineMs } = this.#timeouts
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
    return this.#timeouts.idle()
  }

  /** Ends the watch. */
  close(): void {
    this.#leave()
    this.#timeouts.close()
  }
}
