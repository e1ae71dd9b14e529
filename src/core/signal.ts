/** What an `AbortSignal` has, for projects that have no types of it. */
interface SignalLike {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  addEventListener(name: 'abort', listener: () => void): void
  removeEventListener(name: 'abort', listener: () => void): void
}

/** An `AbortSignal`, by the types of Node or of the browser where a project has them. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Global } } ? Global : SignalLike

/** The listeners of each signal. */
const bySignal = new WeakMap<AbortSignal, AbortListeners>()

/**
 * Calls `aborted`, a function of its own, when the signal is aborted, which it is not yet. Returns the function that ends that. However
 * many listen, the signal has one listener: from the eleventh on Node would warn of a leak.
 */
export function onAbort(signal: AbortSignal, aborted: () => void): () => void {
  const listeners = bySignal.get(signal) ?? new AbortListeners(signal)
  return listeners.add(aborted)
}

class AbortListeners {
  readonly #signal: AbortSignal
  readonly #listeners = new Set<() => void>()

  constructor(signal: AbortSignal) {
    this.#signal = signal
    bySignal.set(signal, this)
    signal.addEventListener('abort', this.#tell)
  }

  add(aborted: () => void): () => void {
    this.#listeners.add(aborted)
    return () => this.#remove(aborted)
  }

  #remove(aborted: () => void): void {
    this.#listeners.delete(aborted)
    if (this.#listeners.size > 0) return
    bySignal.delete(this.#signal)
    this.#signal.removeEventListener('abort', this.#tell)
  }

  readonly #tell = (): void => {
    for (const aborted of this.#listeners) aborted()
  }
}
