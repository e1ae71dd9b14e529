/** What falls due at some time, the earliest first; of one time in any order. */
export class DueQueue<Item> {
  // A binary heap, in two rows so that a comparison does not touch an object.
  readonly #dueMs: number[] = []
  readonly #items: Item[] = []

  /** When the next one is due; `Infinity` when there is none. */
  get nextMs(): number {
    return this.#dueMs[0] ?? Number.POSITIVE_INFINITY
  }

  add(dueMs: number, item: Item): void {
    let at = this.#dueMs.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if ((this.#dueMs[parent] as number) <= dueMs) break
      this.#put(at, this.#dueMs[parent] as number, this.#items[parent] as Item)
      at = parent
    }
    this.#put(at, dueMs, item)
  }

  /** Takes out the one that is due first. There must be one. */
  take(): Item {
    const first = this.#items[0] as Item
    const lastMs = this.#dueMs.pop() as number
    const last = this.#items.pop() as Item
    if (this.#items.length > 0) this.#sink(lastMs, last)
    return first
  }

  #sink(dueMs: number, item: Item): void {
    const { length } = this.#items
    let at = 0
    for (let child = 1; child < length; child = 2 * at + 1) {
      if (child + 1 < length && (this.#dueMs[child + 1] as number) < (this.#dueMs[child] as number)) child++
      if ((this.#dueMs[child] as number) >= dueMs) break
      this.#put(at, this.#dueMs[child] as number, this.#items[child] as Item)
      at = child
    }
    this.#put(at, dueMs, item)
  }

  #put(at: number, dueMs: number, item: Item): void {
    this.#dueMs[at] = dueMs
    this.#items[at] = item
  }
}
