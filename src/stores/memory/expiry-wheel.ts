import { PAGE_BITS, PAGE_MASK, wholeNumbers } from './pages.ts'

const BUCKETS = 64
const LEVELS = 7
const PENDING = BUCKETS * LEVELS
const FIRST = PENDING + 1

/**
 * Finds the slots whose time has come without looking at the others, to the millisecond and for any distance: a hierarchical
 * timing wheel. A slot costs eight bytes, adding and removing one are constant work, and no timer is involved: time passes
 * when `advance` is called.
 */
export class ExpiryWheel {
  // Circular lists, linked by index. The first indices are the heads: one per bucket, and one for slots that are due.
  readonly #links = wholeNumbers(2)
  #nowMs = 0
  /** Whether there are heads: not before the first slot. Most limits never have a block or a hold. */
  #hasHeads = false

  /** Makes room for slots `0` to `slots - 1`. */
  grow(slots: number): void {
    this.#links.grow(slots + FIRST)
    if (this.#hasHeads) return
    this.#hasHeads = true
    for (let head = 0; head < FIRST; head++) this.#join(head, head)
  }

  /** Gives back the room of slots from `slots` on, none of which may be noted. */
  shrink(slots: number): void {
    this.#links.shrink(slots + FIRST)
  }

  /** Notes that `slot` is due at `dueMs`. It must not be noted already. */
  add(slot: number, dueMs: number): void {
    this.#link(slot + FIRST, this.#bucketFor(dueMs))
  }

  /** Forgets `slot`, which must be noted. */
  remove(slot: number): void {
    this.#join(this.#previous(slot + FIRST), this.#next(slot + FIRST))
  }

  /** Notes slot `to` in the place of slot `from`. */
  move(from: number, to: number): void {
    const previous = this.#previous(from + FIRST)
    const next = this.#next(from + FIRST)
    this.#join(previous, to + FIRST)
    this.#join(to + FIRST, next)
  }

  /** Moves time to `nowMs`. Answers whether there are slots to `take`, which may be due by then. */
  advance(nowMs: number): boolean {
    const fromMs = this.#nowMs
    this.#nowMs = nowMs
    if (!this.#hasHeads) return false
    // After a step back the buckets in between come round again; a slot that is visited too early is just added anew.
    for (let level = 0, widthMs = 1; level < LEVELS && nowMs > fromMs; level++, widthMs *= BUCKETS) {
      const last = Math.floor(nowMs / widthMs)
      const first = Math.max(Math.floor(fromMs / widthMs) + 1, last - BUCKETS + 1)
      if (first > last) break
      for (let bucket = first; bucket <= last; bucket++) this.#release(level * BUCKETS + (bucket % BUCKETS))
    }
    return this.#next(PENDING) !== PENDING
  }

  /** Takes out one slot that may be due, or answers -1. There has been a slot before. The caller looks, and adds it again when its time has moved. */
  take(): number {
    const index = this.#next(PENDING)
    if (index === PENDING) return -1
    this.#join(PENDING, this.#next(index))
    return index - FIRST
  }

  #bucketFor(dueMs: number): number {
    const aheadMs = dueMs - this.#nowMs
    if (aheadMs <= 0) return PENDING
    let level = 0
    let widthMs = 1
    while (level < LEVELS - 1 && aheadMs >= widthMs * BUCKETS) {
      level++
      widthMs *= BUCKETS
    }
    return level * BUCKETS + (Math.floor(dueMs / widthMs) % BUCKETS)
  }

  #link(index: number, head: number): void {
    this.#join(this.#previous(head), index)
    this.#join(index, head)
  }

  /** Hands a whole bucket over to the due list, in constant time. */
  #release(head: number): void {
    const first = this.#next(head)
    if (first === head) return
    const last = this.#previous(head)
    this.#join(this.#previous(PENDING), first)
    this.#join(last, PENDING)
    this.#join(head, head)
  }

  #next(index: number): number {
    return (this.#links.list[index >>> PAGE_BITS] as Int32Array)[(index & PAGE_MASK) * 2] as number
  }

  #previous(index: number): number {
    return (this.#links.list[index >>> PAGE_BITS] as Int32Array)[(index & PAGE_MASK) * 2 + 1] as number
  }

  #join(index: number, next: number): void {
    const links = this.#links.list
    ;(links[index >>> PAGE_BITS] as Int32Array)[(index & PAGE_MASK) * 2] = next
    ;(links[next >>> PAGE_BITS] as Int32Array)[(next & PAGE_MASK) * 2 + 1] = index
  }
}
