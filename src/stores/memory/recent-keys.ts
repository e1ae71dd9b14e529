/** The most keys that are remembered: few, so that they stay in the processor's cache. More would take longer than a search. */
const MOST = 1_024

/** One of four keys that had to be searched for is remembered: a key that is seen once is mostly not seen again. */
const NOTED = 4

/** How many searches go by without a look here when the keys that were remembered were found less than once each. */
const REST = 1_024 * MOST

/** Where a key is: its slot, and the place of its text, which no other key ever has. */
export interface KeyPlace {
  readonly slot: number
  readonly pool: Int32Array
  readonly start: number
  /** How many keys had been removed when it was last seen there: it is still there as long as that number is the same. */
  removals: number
}

/**
 * Where the keys are that are asked for again and again: JavaScript keeps the hash of a string, so that a `Map` finds it without
 * reading its characters. With traffic over very many keys it would be of no use, and rests.
 */
export class RecentKeys {
  #places = new Map<string, KeyPlace>()
  #hits = 0
  #searched = 0
  #rest = 0

  /** Where a key was when it was noted. It may have moved since. */
  find(key: string): KeyPlace | undefined {
    if (this.#rest > 0) {
      this.#rest--
      return undefined
    }
    const place = this.#places.get(key)
    if (place !== undefined) this.#hits++
    return place
  }

  /** Notes where a key is that was not found here. */
  note(key: string, slot: number, pool: Int32Array, start: number, removals: number): void {
    if (this.#rest > 0 || ++this.#searched % NOTED !== 0) return
    if (this.#places.size >= MOST) {
      if (this.#hits < MOST) this.#rest = REST
      this.#hits = 0
      this.#places = new Map()
    }
    this.#places.set(copyText(key), { slot, pool, start, removals })
  }
}

// A part of a larger text, such as a header, would keep all of that.
function copyText(text: string): string {
  return String.fromCharCode(...Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)))
}
