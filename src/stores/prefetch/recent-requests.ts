/** The fewest requests in `maxMs` of a key that is worth a grant. A key with fewer is asked about as without prefetch. */
const HOT_REQUESTS = 8

/** What a key was asked for in the last `maxMs`, refused or not: two slots of that length, so it is never more than was asked for. */
export class RecentRequests {
  readonly #maxMs: number
  #slotMs: number
  #requests = 0
  #requestsBefore = 0
  #units = 0
  #unitsBefore = 0

  constructor(maxMs: number, nowMs: number) {
    this.#maxMs = maxMs
    this.#slotMs = nowMs
  }

  /** Another request. */
  count(units: number, nowMs: number): void {
    if (nowMs >= this.#slotMs + this.#maxMs) this.#roll(nowMs)
    this.#requests++
    this.#units += units
  }

  /** Whether there are enough requests for a grant to spare calls. */
  isHot(nowMs: number): boolean {
    return this.#requests + this.#requestsBefore * this.#measurePast(nowMs) >= HOT_REQUESTS
  }

  /** The units of the last `maxMs`. */
  measure(nowMs: number): number {
    return this.#units + this.#unitsBefore * this.#measurePast(nowMs)
  }

  /** The part of the slot before this one that lies in the last `maxMs`. */
  #measurePast(nowMs: number): number {
    return Math.min(1, Math.max(0, 1 - (nowMs - this.#slotMs) / this.#maxMs))
  }

  #roll(nowMs: number): void {
    const follows = nowMs < this.#slotMs + 2 * this.#maxMs
    this.#slotMs = follows ? this.#slotMs + this.#maxMs : nowMs
    this.#requestsBefore = follows ? this.#requests : 0
    this.#unitsBefore = follows ? this.#units : 0
    this.#requests = 0
    this.#units = 0
  }
}
