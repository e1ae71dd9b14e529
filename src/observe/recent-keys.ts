import { type KeyCount, TopKeys } from './top-keys.ts'

/** The keys that were counted most often recently: since a time that is between one and two times `spanMs` ago. */
export class RecentKeys {
  readonly #size: number
  readonly #spanMs: number
  #current: TopKeys
  #currentFromMs: number
  #previous: TopKeys
  #previousFromMs: number

  constructor(size: number, spanMs: number, nowMs: number) {
    this.#size = size
    this.#spanMs = spanMs
    this.#current = new TopKeys(size)
    this.#previous = new TopKeys(size)
    this.#currentFromMs = this.#previousFromMs = nowMs
  }

  /** Counts a request of a key. */
  count(key: string, allowed: boolean, nowMs: number): void {
    this.#turn(nowMs)
    this.#current.count(key, allowed)
  }

  /** Tallies a request of a key that was counted recently, and does not count it. */
  note(key: string, allowed: boolean): void {
    this.#current.note(key, allowed)
  }

  /** Since when they are counted. */
  sinceMs(nowMs: number): number {
    this.#turn(nowMs)
    return this.#previousFromMs
  }

  /** The first `most` of them by what is known of them. */
  top(most: number, nowMs: number, rank: (count: KeyCount) => number): readonly KeyCount[] {
    this.#turn(nowMs)
    const current = this.#current
    const previous = this.#previous
    const counts = current.all().map((count) => sum(count, previous))
    for (const count of previous.all()) if (current.get(count.key) === undefined) counts.push(sum(count, current))
    return counts.sort((one, other) => rank(other) - rank(one)).slice(0, most)
  }

  #turn(nowMs: number): void {
    // A clock that was set back must not make "lately" long.
    if (nowMs < this.#currentFromMs) {
      this.#currentFromMs = nowMs
      this.#previousFromMs = Math.min(this.#previousFromMs, nowMs)
    }
    const ageMs = nowMs - this.#currentFromMs
    if (ageMs < this.#spanMs) return
    const isOld = ageMs >= 2 * this.#spanMs
    this.#previous = isOld ? new TopKeys(this.#size) : this.#current
    this.#previousFromMs = isOld ? nowMs : this.#currentFromMs
    this.#current = new TopKeys(this.#size)
    this.#currentFromMs = nowMs
  }
}

function sum({ key, allowed, refused, error }: KeyCount, others: TopKeys): KeyCount {
  const other = others.get(key)
  return {
    key,
    allowed: allowed + (other?.allowed ?? 0),
    refused: refused + (other?.refused ?? 0),
    error: error + (other?.error ?? others.missed),
  }
}
