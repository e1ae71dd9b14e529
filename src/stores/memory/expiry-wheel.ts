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
  #next: Int32Array = new Int32Array(FIRST)
  #previous: Int32Array = new Int32Array(FIRST)
  #nowMs = 0

  constructor() {
    for (let head = 0; head < FIRST; head++) this.#next[head] = this.#previous[head] = head
  }

  /** Makes room for slots `0` to `slots - 1`. */
  grow(slots: number): void {
    this.#next = enlarged(this.#next, slots + FIRST)
    this.#previous = enlarged(this.#previous, slots + FIRST)
  }

  /** Notes that `slot` is due at `dueMs`. It must not be noted already. */
  add(slot: number, dueMs: number): void {
    this.#link(slot + FIRST, this.#bucketFor(dueMs))
  }

  /** Forgets `slot`, which must be noted. */
  remove(slot: number): void {
    const index = slot + FIRST
    const next = this.#next[index] as number
    const previous = this.#previous[index] as number
    this.#next[previous] = next
    this.#previous[next] = previous
  }

  /** Moves time to `nowMs` and makes the slots that may be due by then available to `take`. */
  advance(nowMs: number): void {
    const fromMs = this.#nowMs
    this.#nowMs = nowMs
    // After a step back the buckets in between come round again; a slot that is visited too early is just added anew.
    if (nowMs <= fromMs) return
    for (let level = 0, widthMs = 1; level < LEVELS; level++, widthMs *= BUCKETS) {
      const last = Math.floor(nowMs / widthMs)
      const first = Math.max(Math.floor(fromMs / widthMs) + 1, last - BUCKETS + 1)
      if (first > last) return
      for (let bucket = first; bucket <= last; bucket++) this.#release(level * BUCKETS + (bucket % BUCKETS))
    }
  }

  /** Takes out one slot that may be due, or answers -1. The caller looks, and adds it again when its time has moved. */
  take(): number {
    const index = this.#next[PENDING] as number
    if (index === PENDING) return -1
    this.remove(index - FIRST)
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
    const last = this.#previous[head] as number
    this.#next[last] = index
    this.#previous[index] = last
    this.#next[index] = head
    this.#previous[head] = index
  }

  /** Hands a whole bucket over to the due list, in constant time. */
  #release(head: number): void {
    const first = this.#next[head] as number
    if (first === head) return
    const last = this.#previous[head] as number
    const tail = this.#previous[PENDING] as number
    this.#next[tail] = first
    this.#previous[first] = tail
    this.#next[last] = PENDING
    this.#previous[PENDING] = last
    this.#next[head] = this.#previous[head] = head
  }
}

function enlarged(array: Int32Array, length: number): Int32Array {
  const larger = new Int32Array(length)
  larger.set(array)
  return larger
}
