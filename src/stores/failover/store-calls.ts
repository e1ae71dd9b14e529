import { type Clock, startTimer } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { NoAnswer } from '../../core/no-answer.ts'
import { isRequestBound } from '../../core/request-bound.ts'
import type { Health, Reply, Store, StoreCall } from '../../core/store.ts'
import { type Timed, Timeouts } from '../../core/timeouts.ts'
import {
  type BreakerListener,
  type BreakerSnapshot,
  type CircuitBreaker,
  classifyFailure,
  joinBreaker,
} from './circuit-breaker.ts'

/** The pause before a call is sent again, and twice as long each time after. */
const FIRST_PAUSE_MS = 20

/** Not a number of answers. */
const UNKNOWN = -1

/** What a limiter does about a call whose store may fail. */
export interface CallHost {
  /** Sends a call after what its keys owe the store. */
  put(pending: PendingCall): void
  /** Answers a call that the store did not answer. */
  answerInstead(call: StoreCall, reply: Reply, error: unknown): void
}

/** The calls of one limiter that wait for its store. Each ends at its timeout at the latest, and the circuit breaker hears how. */
export class StoreCalls {
  readonly timeouts: Timeouts
  readonly breaker: CircuitBreaker
  readonly store: Store
  readonly #clock: Clock | undefined
  readonly #leave: () => void
  #late: Error | undefined

  /** @param listener hears when the store is left alone and when it is back. */
  constructor(store: Store, timeoutMs: number, clock: Clock | undefined, listener: BreakerListener) {
    this.store = store
    this.timeouts = new Timeouts(timeoutMs, clock)
    this.breaker = joinBreaker(store, clock)
    this.#leave = this.breaker.join(listener)
    this.#clock = clock
  }

  get health(): Health {
    return this.breaker.health
  }

  /** The error of a call that had no answer in time. One for all that are late at once: it takes longer to make than a decision. */
  createLate(): Error {
    if (this.#late !== undefined) return this.#late
    const { deadlineMs } = this.timeouts
    const cause = new NoAnswer(`no answer within ${deadlineMs} ms`)
    const hint = isRequestBound() ? '. In a Worker a connection ends with its request: open one in each request' : ''
    const message = `the store timed out after ${deadlineMs} ms${hint}`
    this.#late = this.store.trouble?.() ?? new LimiterError('STORE_FAILED', message, { cause })
    queueMicrotask(() => {
      this.#late = undefined
    })
    return this.#late
  }

  /** Why the store is not asked. */
  reason(): LimiterError {
    const { error, forMs } = this.health
    const why = error instanceof Error ? error.message : String(error)
    const message = `the store has failed for ${forMs} ms (${why}). It was not asked, and nothing was counted`
    const code = classifyFailure(error) === 'denied' ? 'STORE_DENIED' : 'STORE_FAILED'
    return new LimiterError(code, message, { cause: error })
  }

  /** Calls `ring` after `pauseMs`, by the time that timeouts go by. */
  after(pauseMs: number, ring: () => void): () => void {
    return startTimer(this.#clock, pauseMs, ring)
  }

  /** Resolves when something is done, and after `longestMs` at the latest. */
  within(longestMs: number, done: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = this.after(longestMs, resolve)
      done.finally(stop).then(resolve, reject)
    })
  }

  /** Resolves when nothing waits for the store any more: by the timeout of what was asked last. */
  idle(): Promise<void> {
    return this.timeouts.idle()
  }

  close(): void {
    this.#leave()
    this.timeouts.close()
  }
}

/** A call that waits for its store. */
export class PendingCall implements Timed, BreakerSnapshot, Reply {
  dueMs = 0
  isOver = false
  readonly call: StoreCall
  /** When it began. */
  readonly begunMs: number
  readonly answers: number
  readonly failures: number
  readonly #calls: StoreCalls
  readonly #reply: Reply
  readonly #host: CallHost | undefined
  #pauseMs = FIRST_PAUSE_MS
  #stop: (() => void) | undefined
  /** Cancels what the store does for it. */
  #cancel: ((reason: Error) => void) | undefined
  /** What went wrong last. */
  #error: unknown

  /**
   * Its time runs from now on.
   *
   * @param host absent: the reply hears what went wrong, and nothing is sent again.
   */
  constructor(calls: StoreCalls, call: StoreCall, reply: Reply, host?: CallHost) {
    this.#calls = calls
    this.call = call
    this.#reply = reply
    this.#host = host
    const { deadlineMs } = calls.timeouts
    const afterMs = call.timeoutMs === 0 ? deadlineMs : Math.min(call.timeoutMs, deadlineMs)
    // To be silent for less than a whole timeout is a failure like others: it does not open the breaker alone.
    this.answers = afterMs < deadlineMs ? UNKNOWN : calls.breaker.answers
    this.failures = calls.breaker.failures
    this.begunMs = calls.timeouts.add(this, afterMs)
  }

  /** Asks the store. */
  send(): void {
    try {
      const results = this.#calls.store.decide(this.call, this)
      if (results !== undefined) this.done(results)
    } catch (error) {
      this.failed(error)
    }
  }

  done(results: readonly LimitResult[]): void {
    if (!this.#calls.timeouts.end(this)) return
    this.#calls.breaker.answered()
    this.#reply.done(results)
  }

  failed(given: unknown): void {
    const error = given ?? new LimiterError('STORE_FAILED', 'the store failed without an error')
    this.#error = error
    if (this.#mayRetry(error)) this.#retryLater()
    else if (this.#calls.timeouts.end(this)) {
      this.#calls.breaker.failed(error, this)
      this.#fail(error)
    }
  }

  expire(): void {
    this.#stop?.()
    const late = this.#calls.createLate()
    this.#calls.breaker.missed(late, this)
    this.#fail(this.#error ?? late)
    this.#cancel?.(late)
  }

  onTimeout(cancel: (reason: Error) => void): void {
    if (this.isOver) cancel(this.#calls.createLate())
    else this.#cancel = cancel
  }

  #fail(error: unknown): void {
    if (this.#host === undefined) this.#reply.failed(error)
    else this.#host.answerInstead(this.call, this.#reply, error)
  }

  // Only what has an idempotency key: the store then counts it once.
  #mayRetry(error: unknown): boolean {
    if (this.#host === undefined || this.call.idempotency === undefined || this.isOver) return false
    return !this.#calls.breaker.isOpen && classifyFailure(error) === 'down'
  }

  #retryLater(): void {
    this.#stop = this.#calls.after(this.#pauseMs, () => this.#host?.put(this))
    this.#pauseMs *= 2
  }
}
