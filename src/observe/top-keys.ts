/** A key and what is known to have been decided about it: at most `error` requests are missing, and none is too many. */
export interface KeyCount {
  readonly key: string
  readonly allowed: number
  readonly refused: number
  readonly error: number
}

interface Counter extends KeyCount {
  allowed: number
  refused: number
  /** What the key is ranked by: what was counted for it, and what it may have missed. */
  rank: number
  /** Its place among the ranked. */
  place: number
  peers: Peers
}

/** What counters of the same rank have in common: the first place that one of them has. */
interface Peers {
  first: number
}

/**
 * Finds the keys that are counted most often among any number of them, with a fixed number of counters (the space-saving sketch). A
 * key that has none takes that of the lowest one, with the rank of that one as what it may have missed. A key that is more than one
 * in `size` of everything counted surely has a counter.
 */
export class TopKeys {
  readonly #size: number
  readonly #byKey = new Map<string, Counter>()
  /** The highest first. */
  readonly #ranked: Counter[] = []

  constructor(size: number) {
    this.#size = size
  }

  /** Counts a request of a key. */
  count(key: string, allowed: boolean): void {
    const counter = this.#byKey.get(key) ?? this.#enter(key)
    tally(counter, allowed)
    this.#rise(counter)
  }

  /** Tallies a request without making its key any higher, if the key has a counter. */
  note(key: string, allowed: boolean): void {
    if (this.#ranked.length === 0) return
    const counter = this.#byKey.get(key)
    if (counter !== undefined) tally(counter, allowed)
  }

  /** What is known of a key; `undefined` when it has no counter. */
  get(key: string): KeyCount | undefined {
    return this.#byKey.get(key)
  }

  /** All keys that have a counter, the highest first. */
  all(): readonly KeyCount[] {
    return this.#ranked
  }

  /** What a key that has no counter may have missed. */
  get missed(): number {
    return this.#ranked[this.#size - 1]?.rank ?? 0
  }

  #enter(key: string): Counter {
    const error = this.missed
    const place = Math.min(this.#ranked.length, this.#size - 1)
    const lowest = this.#ranked[place]
    if (lowest !== undefined) this.#byKey.delete(lowest.key)
    const counter = { key, allowed: 0, refused: 0, error, rank: error, place, peers: lowest?.peers ?? { first: place } }
    this.#ranked[place] = counter
    this.#byKey.set(key, counter)
    return counter
  }

  // Trades places with the first of its rank, and there is the last of the next one.
  #rise(counter: Counter): void {
    const { rank, place, peers } = counter
    const { first } = peers
    if (first !== place) {
      const other = this.#ranked[first] as Counter
      this.#ranked[place] = other
      other.place = place
      this.#ranked[first] = counter
      counter.place = first
    }
    counter.rank = rank + 1
    const above = this.#ranked[first - 1]
    const hadPeers = this.#ranked[first + 1]?.rank === rank
    if (hadPeers) peers.first = first + 1
    if (above?.rank === rank + 1) counter.peers = above.peers
    else if (hadPeers) counter.peers = { first }
  }
}

function tally(counter: Counter, allowed: boolean): void {
  if (allowed) counter.allowed++
  else counter.refused++
}
