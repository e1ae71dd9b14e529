import type { LiveRefusal } from './live-report.ts'

/** How many keys are remembered, and how many refusals of each. */
const MOST_KEYS = 1_000
const MOST_OF_A_KEY = 5

/** The last refusals of the keys that were refused last. */
export class LastRefusals {
  /** The key that was refused last is the last one. */
  readonly #byKey = new Map<string, LiveRefusal[]>()

  note(key: string, refusal: LiveRefusal): void {
    const refusals = this.#byKey.get(key) ?? []
    refusals.push(refusal)
    if (refusals.length > MOST_OF_A_KEY) refusals.shift()
    this.#byKey.delete(key)
    this.#byKey.set(key, refusals)
    if (this.#byKey.size > MOST_KEYS) this.#byKey.delete(this.#byKey.keys().next().value as string)
  }

  /** The last refusals of a key, the newest first. */
  list(key: string): readonly LiveRefusal[] {
    return this.#byKey.get(key)?.toReversed() ?? []
  }
}
