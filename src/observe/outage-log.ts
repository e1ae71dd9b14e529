import { describeError } from '../core/describe-error.ts'
import type { LiveReport } from './live-report.ts'

interface OutageEntry {
  readonly fromMs: number
  toMs: number | null
  readonly error: string
}

const MOST_OUTAGES = 100

/** When the store was not there, as those say who ask it. It is gone as long as it is for one of them. */
export class OutageLog {
  readonly #without = new Set<object>()
  readonly #outages: OutageEntry[] = []

  /** A limiter lost the store at this time. */
  lost(who: object, error: unknown, atMs: number): void {
    this.#without.add(who)
    const last = this.#outages.at(-1)
    if (last?.toMs === null) return
    // Who comes later may know of it from before: it is the same one.
    if (last !== undefined && atMs <= (last.toMs as number)) last.toMs = null
    else this.#outages.push({ fromMs: atMs, toMs: null, error: describeError(error) })
    if (this.#outages.length > MOST_OUTAGES) this.#outages.shift()
  }

  /** A limiter has the store again, or is not watched any more. */
  found(who: object, atMs: number): void {
    const last = this.#outages.at(-1)
    if (this.#without.delete(who) && this.#without.size === 0 && last !== undefined) last.toMs = atMs
  }

  report(): LiveReport['outages'] {
    return this.#outages.map((outage) => ({ ...outage }))
  }
}
