/** How long answers take: it follows what is slower at once, and what is faster slowly. */
export class RoundTrip {
  #ms = 0

  note(ms: number): void {
    this.#ms += (ms - this.#ms) / (ms > this.#ms ? 2 : 16)
  }

  /** How much longer a grant has to last, because it is spent only when it has arrived. */
  measureWayMs(maxMs: number): number {
    return Math.min(4 * maxMs, Math.ceil(1.25 * this.#ms))
  }
}
