const CELLS = 4_096
/** Half of what makes a key hot: a key that becomes hot has its record early enough. */
const REQUESTS = 4

/**
 * Counts requests by a hash of their key, so that only a key that may become hot gets a record. Keys that share a cell get one too
 * early, and nothing else.
 */
export class RequestCells {
  readonly #slotMs: number
  readonly #slots = new Float64Array(CELLS)
  readonly #counts = new Uint32Array(CELLS)
  readonly #before = new Uint32Array(CELLS)

  constructor(slotMs: number) {
    this.#slotMs = slotMs
  }

  /** Counts a request of a key. Whether the key had enough of late to get a record. */
  count(key: string, nowMs: number): boolean {
    const cell = hash(key) & (CELLS - 1)
    const slot = Math.floor(nowMs / this.#slotMs)
    const passed = slot - (this.#slots[cell] as number)
    if (passed !== 0) {
      this.#before[cell] = passed === 1 ? (this.#counts[cell] as number) : 0
      this.#counts[cell] = 0
      this.#slots[cell] = slot
    }
    const count = (this.#counts[cell] as number) + 1
    this.#counts[cell] = count
    return count + (this.#before[cell] as number) >= REQUESTS
  }
}

// FNV-1a.
function hash(key: string): number {
  let sum = 0x811c9dc5
  for (let at = 0; at < key.length; at++) sum = Math.imul(sum ^ key.charCodeAt(at), 0x01000193)
  return sum ^ (sum >>> 15)
}
