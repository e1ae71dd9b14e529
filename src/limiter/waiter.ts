import type { Decision } from '../core/decision.ts'

/** Somebody who wants to pass. */
export interface Waiter {
  /** One try. A refusal says in `retryAfterMs` exactly when to try again. */
  attempt(): Promise<Decision>
  /** Gives back what an allowed attempt took. The line wakes itself afterwards. */
  undo(decision: Decision): Promise<unknown>
  /** What `attempt` would answer: the numbers for a refusal of somebody whose turn never came. */
  peek(): Promise<Decision>
  /** Whether the key is blocked now: who has sat out a delay does not pass then. */
  isBlocked(): Promise<boolean>
  /** How long to wait at most. Passing exactly then is in time; 0 waits for nobody; `Infinity` waits as long as it takes. */
  readonly maxWaitMs: number
  readonly signal?: AbortSignal | undefined
}

/** One waiter from its arrival to its answer. Settling it ends its timer and its listener; only the first time counts. */
export class Visit {
  readonly waiter: Waiter
  /** In the order of arrival. */
  readonly number: number
  readonly untilMs: number
  readonly answer: Promise<Decision>
  readonly #stopListening: (() => void) | undefined
  #resolve!: (decision: Decision) => void
  #reject!: (error: unknown) => void
  settled = false
  /** What it has taken while it sits out its delay. */
  taken: Decision | undefined
  cancelTimer: () => void = () => {}

  constructor(waiter: Waiter, number: number, untilMs: number, aborted: () => void) {
    this.waiter = waiter
    this.number = number
    this.untilMs = untilMs
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const { signal } = waiter
    if (signal === undefined) return
    this.#stopListening = onAbort(signal, () => {
      this.reject(signal.reason)
      aborted()
    })
  }

  resolve(decision: Decision): void {
    this.#settle()
    this.#resolve(decision)
  }

  reject(error: unknown): void {
    this.#settle()
    this.#reject(error)
  }

  #settle(): void {
    this.settled = true
    this.cancelTimer()
    this.#stopListening?.()
  }
}

/** The signals that are listened to, and who is told. */
const told = new WeakMap<AbortSignal, AbortListeners>()

/**
 * Calls `aborted`, a function of its own, when the signal is aborted, which it is not yet. Returns the function that ends that. However
 * many listen, the signal has one listener: from the eleventh on Node would warn of a leak.
 */
function onAbort(signal: AbortSignal, aborted: () => void): () => void {
  const listeners = told.get(signal) ?? new AbortListeners(signal)
  return listeners.add(aborted)
}

class AbortListeners {
  readonly #signal: AbortSignal
  readonly #listeners = new Set<() => void>()

  constructor(signal: AbortSignal) {
    this.#signal = signal
    told.set(signal, this)
    signal.addEventListener('abort', this.#tell)
  }

  add(aborted: () => void): () => void {
    this.#listeners.add(aborted)
    return () => this.#remove(aborted)
  }

  #remove(aborted: () => void): void {
    this.#listeners.delete(aborted)
    if (this.#listeners.size > 0) return
    told.delete(this.#signal)
    this.#signal.removeEventListener('abort', this.#tell)
  }

  readonly #tell = (): void => {
    for (const aborted of this.#listeners) aborted()
  }
}
