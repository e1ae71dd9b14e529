/** The signals that are listened to, and who is told. */
const told = new WeakMap<AbortSignal, AbortListeners>()

/**
 * Calls `aborted`, a function of its own, when the signal is aborted, which it is not yet. Returns the function that ends that. However
 * many listen, the signal has one listener: from the eleventh on Node would warn of a leak.
 */
export function onAbort(signal: AbortSignal, aborted: () => void): () => void {
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
