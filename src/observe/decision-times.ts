/** Four steps for each doubling: a reported time is at most a fifth too high. */
const STEPS_PER_DOUBLING = 4
const SHORTEST_MS = 0.001
/** Up to 134 seconds; longer times count as that. */
const STEPS: number = 27 * STEPS_PER_DOUBLING + 1

/** How long things took, on a scale of fixed size: a thousandth of a millisecond and up, in steps of 19 %. */
export class DecisionTimes {
  readonly #counts = new Uint32Array(STEPS)
  #total = 0

  add(tookMs: number): void {
    const exact = Math.ceil(Math.log2(tookMs / SHORTEST_MS) * STEPS_PER_DOUBLING)
    const step = Math.max(0, Math.min(exact, STEPS - 1))
    this.#counts[step] = (this.#counts[step] as number) + 1
    this.#total++
  }

  /** The time within which this share of them was over, never too low; `null` when there were none. */
  percentile(share: number): number | null {
    let left = Math.ceil(this.#total * share)
    if (left === 0) return null
    let step = 0
    while (left > (this.#counts[step] as number)) left -= this.#counts[step++] as number
    return SHORTEST_MS * 2 ** (step / STEPS_PER_DOUBLING)
  }

  clear(): void {
    if (this.#total > 0) this.#counts.fill(0)
    this.#total = 0
  }
}
