import { countWords, KeyText } from './key-text.ts'
import { countPages, PAGE, PAGE_BITS, PAGE_MASK, wholeNumbers } from './pages.ts'
import { type KeyPlace, RecentKeys } from './recent-keys.ts'

/** What a slot has: the next slot of its bucket plus one, its key's hash, and where in its page's pool the key is. */
const NEXT = 0
const HASH = 1
const TEXT = 2
const WIDTH = 3

/**
 * Buckets are merged when there are more than this many times the keys, and this many for each key that goes: most of them are empty
 * by then, and cost nothing to merge.
 */
const MERGES = 4

/** How much of a pool may be the keys of slots that have moved on, before the pool is made anew. */
const SPARE = 1.125

/**
 * Keys by slot and slots by key, without an object per key: a million strings would be copied by the garbage collector, in
 * pauses that every request feels. Slots are dense: the last one takes the place of one that is removed. Buckets are split and merged one
 * at a time as keys come and go (linear hashing), so that no key ever pays for a table that grows.
 */
export class KeyIndex {
  /** How many keys there are. */
  size = 0
  readonly #recent = new RecentKeys()
  readonly #text = new KeyText()
  readonly #heads = wholeNumbers(1)
  readonly #links = wholeNumbers(WIDTH)
  /** The keys of each page, one after the other, and how far that goes. */
  readonly #pools: Int32Array[] = []
  readonly #used: number[] = []
  #buckets = 1
  #mask = 0
  /** How many keys have been removed, and how often a pool was made anew. */
  #removals = 0
  /** How many words all keys take. */
  #words = 0

  constructor() {
    this.#heads.grow(1)
  }

  /** The slot of a key, or -1. */
  find(key: string): number {
    const place = this.#recent.find(key)
    if (place !== undefined && (place.removals === this.#removals || this.#isThere(place))) return place.slot
    return this.#search(key)
  }

  /** Whether the key of a place is still in its slot. */
  #isThere(place: KeyPlace): boolean {
    const { slot, pool, start } = place
    const page = slot >>> PAGE_BITS
    if (slot >= this.size || this.#pools[page] !== pool || this.#field(slot, TEXT) !== start) return false
    place.removals = this.#removals
    return true
  }

  #search(key: string): number {
    const text = this.#text
    text.read(key)
    const { hash, words, length } = text
    let slot = this.#head(this.#findBucket(hash)) - 1
    while (slot >= 0) {
      const links = this.#links.list[slot >>> PAGE_BITS] as Int32Array
      const at = (slot & PAGE_MASK) * WIDTH
      if (links[at + HASH] === hash) {
        const pool = this.#pools[slot >>> PAGE_BITS] as Int32Array
        const start = links[at + TEXT] as number
        let word = 0
        while (word < length && pool[start + word] === words[word]) word++
        if (word === length) {
          this.#recent.note(key, slot, pool, start, this.#removals)
          return slot
        }
      }
      slot = (links[at + NEXT] as number) - 1
    }
    return -1
  }

  /** Gives the key that `find` has just not found the next slot, and answers with it. */
  add(): number {
    const text = this.#text
    const slot = this.size
    this.#links.grow(slot + 1)
    const page = slot >>> PAGE_BITS
    const start = this.#allot(page, text.length)
    const words = this.#pools[page] as Int32Array
    for (let word = 0; word < text.length; word++) words[start + word] = text.words[word] as number
    this.#setField(slot, HASH, text.hash)
    this.#setField(slot, TEXT, start)
    this.size++
    this.#words += text.length
    this.#link(slot, this.#findBucket(text.hash))
    if (this.size > this.#buckets) this.#split()
    return slot
  }

  /** Forgets the key of a slot. The last slot, `size` from now on, takes its number. */
  remove(slot: number): void {
    this.#removals++
    this.#replaceLink(slot, this.#field(slot, NEXT))
    this.#words -= this.#lengthAt(slot)
    const last = --this.size
    if (slot !== last) this.#move(last, slot)
    for (let merged = 0; merged < MERGES && this.#buckets > last * MERGES + 1; merged++) this.#merge()
    this.#links.shrink(last)
    // One pool more than is needed stays, as one page does.
    if (this.#pools.length > countPages(last) + 1) this.#pools.pop()
  }

  // Buckets up to the mask are there as far as they have been split; a hash that would fall beyond stays in the one not split yet.
  #findBucket(hash: number): number {
    const bucket = hash & this.#mask
    return bucket < this.#buckets ? bucket : bucket & (this.#mask >>> 1)
  }

  #field(slot: number, field: number): number {
    return (this.#links.list[slot >>> PAGE_BITS] as Int32Array)[(slot & PAGE_MASK) * WIDTH + field] as number
  }

  #head(bucket: number): number {
    return (this.#heads.list[bucket >>> PAGE_BITS] as Int32Array)[bucket & PAGE_MASK] as number
  }

  #setHead(bucket: number, link: number): void {
    const heads = this.#heads.list[bucket >>> PAGE_BITS] as Int32Array
    heads[bucket & PAGE_MASK] = link
  }

  #setField(slot: number, field: number, value: number): void {
    const links = this.#links.list[slot >>> PAGE_BITS] as Int32Array
    links[(slot & PAGE_MASK) * WIDTH + field] = value
  }

  #link(slot: number, bucket: number): void {
    this.#setField(slot, NEXT, this.#head(bucket))
    this.#setHead(bucket, slot + 1)
  }

  /** Moves a pointer from one slot to another. */
  #replaceLink(slot: number, link: number): void {
    const bucket = this.#findBucket(this.#field(slot, HASH))
    let before = -1
    for (let next = this.#head(bucket); next !== slot + 1; next = this.#field(before, NEXT)) before = next - 1
    if (before < 0) this.#setHead(bucket, link)
    else this.#setField(before, NEXT, link)
  }

  #split(): void {
    const bucket = this.#buckets++
    if (bucket > this.#mask) this.#mask = this.#mask * 2 + 1
    this.#heads.grow(this.#buckets)
    this.#setHead(bucket, 0)
    this.#distribute(bucket & (this.#mask >>> 1))
  }

  #merge(): void {
    const bucket = --this.#buckets
    if (bucket === (this.#mask >>> 1) + 1) this.#mask >>>= 1
    this.#distribute(bucket)
    this.#heads.shrink(this.#buckets)
  }

  /** Links the keys of a bucket where they belong now. */
  #distribute(bucket: number): void {
    let slot = this.#head(bucket) - 1
    this.#setHead(bucket, 0)
    while (slot >= 0) {
      const next = this.#field(slot, NEXT) - 1
      this.#link(slot, this.#findBucket(this.#field(slot, HASH)))
      slot = next
    }
  }

  #move(from: number, to: number): void {
    this.#replaceLink(from, to + 1)
    const [source, target] = [from >>> PAGE_BITS, to >>> PAGE_BITS]
    let start = this.#field(from, TEXT)
    if (source !== target) {
      start = this.#allot(target, this.#lengthAt(from))
      this.#copy(from, this.#pools[target] as Int32Array, start)
    }
    this.#setField(to, NEXT, this.#field(from, NEXT))
    this.#setField(to, HASH, this.#field(from, HASH))
    this.#setField(to, TEXT, start)
  }

  #lengthAt(slot: number): number {
    const words = this.#pools[slot >>> PAGE_BITS] as Int32Array
    return countWords(words[this.#field(slot, TEXT)] as number)
  }

  /** Makes room for a key in the pool of a page, and returns where it starts. */
  #allot(page: number, length: number): number {
    if ((this.#used[page] ?? 0) + length > (this.#pools[page]?.length ?? 0)) this.#renew(page, length)
    const start = this.#used[page] as number
    this.#used[page] = start + length
    return start
  }

  /** Makes a pool of the keys that are still there, with as much room as others may need, by what keys take on average. */
  #renew(page: number, length: number): void {
    const first = page << PAGE_BITS
    const end = Math.min(this.size, first + PAGE)
    let live = length
    for (let slot = first; slot < end; slot++) live += this.#lengthAt(slot)
    const average = (this.#words + length) / (this.size + 1)
    const expected = average * (page > 0 ? PAGE : Math.min(PAGE, 2 * (end + 1)))
    const words = new Int32Array(Math.ceil(Math.max(live, expected) * SPARE))
    let used = 0
    for (let slot = first; slot < end; slot++) {
      const moved = used
      used += this.#copy(slot, words, used)
      this.#setField(slot, TEXT, moved)
    }
    this.#pools[page] = words
    this.#used[page] = used
  }

  /** Copies the key of a slot, and answers how many words it takes. */
  #copy(slot: number, to: Int32Array, at: number): number {
    const words = this.#pools[slot >>> PAGE_BITS] as Int32Array
    const start = this.#field(slot, TEXT)
    const length = countWords(words[start] as number)
    for (let word = 0; word < length; word++) to[at + word] = words[start + word] as number
    return length
  }
}
