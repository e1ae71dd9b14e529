import { type Clock, startTimer, timerNowMs } from '../../core/clock.ts'
import { logWarning } from '../../core/explain-hint.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { isNoAnswer } from '../../core/no-answer.ts'
import { isRequestBound } from '../../core/request-bound.ts'
import type { Health, Store } from '../../core/store.ts'

/** A limiter, as the breaker of its store sees it. */
export interface BreakerListener {
  /** Whether the application listens to failures. */
  readonly isHeard: boolean
  degraded(error: unknown): void
  recovered(afterMs: number): void
  /** The store has answered after something had failed. */
  answered(): void
  /** Asks the store for something that writes, on a key of no limiter. Rejects when that fails, or takes too long. */
  probe(): Promise<unknown>
}

/** What was known of a store when it was asked. */
export interface BreakerSnapshot {
  readonly answers: number
  readonly failures: number
}

/** Failures in a row that end the asking. Those that were under way together count once: one connection took them down. */
const MOST_FAILURES = 5
const FIRST_PROBE_MS = 100
const LONGEST_PAUSE_MS = 2_000
/** A store that fails again so soon has not recovered: it is probed as rarely as before. */
const SETTLED_MS = 10_000

/**
 * Stops asking a store that does not answer, for all limiters that use it, and finds out in the background when it does again: no
 * decision waits for a try.
 */
export class CircuitBreaker {
  /** Answers so far, and failures since the last of them. */
  answers = 0
  failures = 0
  /** Whether the store is not to be asked. */
  isOpen = false
  readonly #clock: Clock | undefined
  /** Weakly: a limiter that is no longer used must not stay for it. */
  readonly #listeners = new Set<WeakRef<BreakerListener>>()
  #error: unknown
  #sinceMs: number
  #pauseMs = FIRST_PROBE_MS
  /** Whether it was reported that the store denies something, and nothing has changed since. */
  #isDenialReported = false
  #stop: (() => void) | undefined

  constructor(clock: Clock | undefined) {
    this.#clock = clock
    this.#sinceMs = timerNowMs(clock)
  }

  get health(): Health {
    const forMs = timerNowMs(this.#clock) - this.#sinceMs
    return { state: this.isOpen ? 'degraded' : 'healthy', forMs, error: this.#error }
  }

  /** Lets a limiter take part, and returns the function that ends that. Without limiters nothing is probed, and nothing is known. */
  join(listener: BreakerListener): () => void {
    const reference = new WeakRef(listener)
    this.#listeners.add(reference)
    return () => {
      this.#listeners.delete(reference)
      if (this.#listListeners().length > 0) return
      this.#stop?.()
      this.isOpen = false
      this.#error = undefined
    }
  }

  /** The store has answered. */
  answered(): void {
    this.answers++
    if (this.failures === 0) return
    this.failures = 0
    for (const listener of this.#listListeners()) listener.answered()
  }

  /** The store has failed at something that was asked when it was known by this snapshot. */
  failed(error: unknown, snapshot: BreakerSnapshot): void {
    const kind = classifyFailure(error)
    if (kind === 'key' || kind === 'mistake') this.answered()
    // Who gives up first, the store, its client or the limiter, makes no difference.
    else if (kind === 'down' && isNoAnswer(error)) this.missed(error, snapshot)
    else {
      // What the store denies lasts until a person changes something: that is reported once.
      if (kind === 'denied') this.#report(error)
      this.#count(error, snapshot)
    }
  }

  /** The store has not answered in time. When it has given no other answer meanwhile, it is not asked again. */
  missed(error: unknown, snapshot: BreakerSnapshot): void {
    if (snapshot.answers === this.answers) this.#open(error)
    else this.#count(error, snapshot)
  }

  #count(error: unknown, { failures }: BreakerSnapshot): void {
    if (this.isOpen || failures !== this.failures) return
    this.failures++
    if (this.failures >= MOST_FAILURES) this.#open(error)
  }

  #open(error: unknown): void {
    const listeners = this.#listListeners()
    // What probes in the background would end with the request, and the store would never be asked again.
    if (this.isOpen || listeners.length === 0 || isRequestBound()) return
    const nowMs = timerNowMs(this.#clock)
    if (nowMs - this.#sinceMs > SETTLED_MS) this.#pauseMs = FIRST_PROBE_MS
    this.isOpen = true
    this.#error = error
    this.#sinceMs = nowMs
    this.#probeLater()
    this.#report(error)
    for (const listener of listeners) listener.degraded(error)
  }

  #close(): void {
    const nowMs = timerNowMs(this.#clock)
    const afterMs = nowMs - this.#sinceMs
    this.isOpen = false
    this.failures = 0
    this.#error = undefined
    this.#isDenialReported = false
    this.#sinceMs = nowMs
    for (const listener of this.#listListeners()) listener.recovered(afterMs)
  }

  // Not at the same times as the other processes that lost the same server.
  #probeLater(): void {
    const pauseMs = Math.round(this.#pauseMs * (0.75 + Math.random() / 2))
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
    this.#stop = startTimer(this.#clock, pauseMs, () => void this.#probe(), { keepsAlive: false })
  }

  async #probe(): Promise<void> {
    const [listener] = this.#listListeners()
    try {
      await listener?.probe()
    } catch (error) {
      const isNews = classifyFailure(error) === 'denied' && classifyFailure(this.#error) !== 'denied'
      this.#error = error
      if (this.isOpen) this.#probeLater()
      if (this.isOpen && isNews) this.#denyLate(error)
      return
    }
    if (this.isOpen) this.#close()
  }

  // A client that connects seldom says only then that the server does not let it in: what was reported as silence is reported again.
  #denyLate(error: unknown): void {
    this.#report(error)
    for (const listener of this.#listListeners()) listener.degraded(error)
  }

  #report(error: unknown): void {
    if (this.#isDenialReported) return
    this.#isDenialReported = classifyFailure(error) === 'denied'
    if (this.#isDenialReported) this.#warn('STORE_DENIED', error)
    else this.#warn('STORE_DEGRADED', error)
  }

  #warn(code: string, error: unknown): void {
    if (this.#listListeners().some(({ isHeard }) => isHeard)) return
    const why = error instanceof Error ? error.message : String(error)
    const message = `${why}; onStoreFailure decides until the store answers`
    logWarning(message, code)
  }

  #listListeners(): readonly BreakerListener[] {
    const listeners: BreakerListener[] = []
    for (const reference of this.#listeners) {
      const listener = reference.deref()
      if (listener === undefined) this.#listeners.delete(reference)
      else listeners.push(listener)
    }
    return listeners
  }
}

/**
 * What an error says of the store that it came from. `'down'`: it may be well again later. `'denied'`: not before a person changes
 * something. `'key'`: only this key is wrong. `'mistake'`: the caller's, or the set-up's; no policy may hide it.
 */
export function classifyFailure(error: unknown): 'down' | 'denied' | 'key' | 'mistake' {
  if (!(error instanceof LimiterError) || error.code === 'STORE_FAILED') return 'down'
  if (error.code === 'STORE_DENIED') return 'denied'
  return error.code === 'FOREIGN_KEY' ? 'key' : 'mistake'
}

// A clock with timers of its own belongs to a test, and must not decide when another limiter's store is asked.
const breakers = new WeakMap<Store, Map<Clock | undefined, CircuitBreaker>>()

/** The breaker of a store, the same for all limiters that use it. */
export function joinBreaker(store: Store, clock: Clock | undefined): CircuitBreaker {
  const timing = clock?.timer === undefined ? undefined : clock
  const ofStore = breakers.get(store) ?? new Map<Clock | undefined, CircuitBreaker>()
  breakers.set(store, ofStore)
  const breaker = ofStore.get(timing) ?? new CircuitBreaker(timing)
  ofStore.set(timing, breaker)
  return breaker
}
