/** A slot's number, shifted by this many bits, is its page. */
export const PAGE_BITS = 13

/** How many slots share a page. */
export const PAGE: number = 1 << PAGE_BITS

/** These bits of a slot's number are its place in the page. */
export const PAGE_MASK: number = PAGE - 1

/** How many pages slots `0` to `slots - 1` take. */
export function countPages(slots: number): number {
  return (slots + PAGE_MASK) >>> PAGE_BITS
}

const SMALLEST = 64

/**
 * Numbers by slot, in pages: room for one more slot never copies what all others hold. Only the first page grows by copying,
 * so that few slots take little room.
 */
export class Pages<Numbers extends Int32Array | Float64Array> {
  /** The pages themselves. A slot's numbers start at `(slot & PAGE_MASK) * width` of page `slot >>> PAGE_BITS`. */
  readonly list: Numbers[] = []
  readonly #create: (length: number) => Numbers
  readonly #width: number
  #slots = 0

  /** @param width how many numbers a slot has. */
  constructor(width: number, create: (length: number) => Numbers) {
    this.#width = width
    this.#create = create
  }

  /** Makes room for slots `0` to `slots - 1`. */
  grow(slots: number): void {
    if (slots <= this.#slots) return
    if (this.#slots < PAGE) this.#growFirst(slots)
    for (; this.#slots < slots; this.#slots += PAGE) this.list.push(this.#create(PAGE * this.#width))
  }

  /** Gives back pages that slots `0` to `slots - 1` do not need, but for one: the next slots may come soon. */
  shrink(slots: number): void {
    for (; this.#slots - slots >= 2 * PAGE; this.#slots -= PAGE) this.list.pop()
  }

  #growFirst(slots: number): void {
    let room = Math.max(SMALLEST, this.#slots)
    while (room < slots && room < PAGE) room *= 2
    const [first] = this.list
    const larger = this.#create(room * this.#width)
    if (first !== undefined) larger.set(first)
    this.list[0] = larger
    this.#slots = room
  }
}

/** Pages of whole numbers. */
export function wholeNumbers(width: number): Pages<Int32Array> {
  return new Pages(width, (length) => new Int32Array(length))
}
