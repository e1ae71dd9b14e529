import type { Limiter } from '../limiter/limiter.ts'

/** What has become of the store. */
export type StoreChange =
  | { readonly state: 'degraded'; readonly error: unknown }
  | { readonly state: 'healthy'; readonly afterMs: number }

/** Tells once what every limiter of a store tells. */
export class StoreNews {
  readonly #tell: (change: StoreChange) => void
  #isDegraded = false

  constructor(tell: (change: StoreChange) => void) {
    this.#tell = tell
  }

  /** Listens to a limiter until the function that it returns is called. */
  watch(limiter: Pick<Limiter<string>, 'on'>): () => void {
    const stops = [
      limiter.on('degraded', ({ error }) => {
        if (this.#isDegraded) return
        this.#isDegraded = true
        this.#tell({ state: 'degraded', error })
      }),
      limiter.on('recovered', ({ afterMs }) => {
        if (!this.#isDegraded) return
        this.#isDegraded = false
        this.#tell({ state: 'healthy', afterMs })
      }),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }
}
