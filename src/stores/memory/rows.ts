import type { CompactCodec, RuleState, StateCodec } from '../../core/rule.ts'
import { countPages, PAGE_BITS, PAGE_MASK, Pages } from './pages.ts'

/** States by slot. */
export interface Rows<State extends RuleState> {
  /** Makes room for slots `0` to `slots - 1`. */
  grow(slots: number): void
  read(slot: number): State
  write(slot: number, state: State): void
  /** Forgets the state of a slot: that of the last slot takes its place, and there is room for one slot less. */
  remove(slot: number, last: number): void
}

/** Rows of numbers when the rule has a fixed number of cells, objects otherwise. */
export function createRows<State extends RuleState>(
  cells: StateCodec<State> | CompactCodec<State> | undefined,
): Rows<State> {
  return cells === undefined ? new ObjectRows<State>() : new NumberRows(cells)
}

class NumberRows<State extends RuleState> implements Rows<State> {
  readonly #cells: StateCodec<State>
  readonly #count: number
  readonly #fits: ((state: State) => boolean) | undefined
  readonly #pages: Pages<Float64Array>
  // The states that do not fit into a row. Their rows start with NaN, which no time is.
  readonly #large = new ObjectRows<State>()

  constructor(cells: StateCodec<State> | CompactCodec<State>) {
    this.#cells = cells
    this.#count = cells.count
    this.#fits = 'fits' in cells ? cells.fits : undefined
    this.#pages = new Pages(cells.count, (length) => new Float64Array(length))
  }

  grow(slots: number): void {
    this.#pages.grow(slots)
  }

  read(slot: number): State {
    const page = this.#pages.list[slot >>> PAGE_BITS] as Float64Array
    const at = (slot & PAGE_MASK) * this.#count
    return this.#fits !== undefined && Number.isNaN(page[at]) ? this.#large.read(slot) : this.#cells.read(page, at)
  }

  write(slot: number, state: State): void {
    const page = this.#pages.list[slot >>> PAGE_BITS] as Float64Array
    const at = (slot & PAGE_MASK) * this.#count
    if (this.#fits === undefined || this.#fits(state)) {
      if (this.#fits !== undefined && Number.isNaN(page[at])) this.#large.clear(slot)
      this.#cells.write(state, page, at)
    } else {
      page[at] = Number.NaN
      this.#large.write(slot, state)
    }
  }

  remove(slot: number, last: number): void {
    const source = this.#pages.list[last >>> PAGE_BITS] as Float64Array
    const target = this.#pages.list[slot >>> PAGE_BITS] as Float64Array
    const from = (last & PAGE_MASK) * this.#count
    const to = (slot & PAGE_MASK) * this.#count
    if (this.#fits !== undefined) this.#large.remove(slot, last)
    for (let cell = 0; cell < this.#count; cell++) target[to + cell] = source[from + cell] as number
    this.#pages.shrink(last)
  }
}

class ObjectRows<State extends RuleState> implements Rows<State> {
  // In pages as well: one array for all of them would be copied to grow.
  readonly #pages: (State | undefined)[][] = []

  grow(): void {}

  // Absent also where no state was too large for its row.
  read(slot: number): State {
    return this.#pages[slot >>> PAGE_BITS]?.[slot & PAGE_MASK] as State
  }

  write(slot: number, state: State): void {
    const number = slot >>> PAGE_BITS
    let page = this.#pages[number]
    if (page === undefined) this.#pages[number] = page = []
    page[slot & PAGE_MASK] = state
  }

  clear(slot: number): void {
    const page = this.#pages[slot >>> PAGE_BITS]
    if (page !== undefined) page[slot & PAGE_MASK] = undefined
  }

  remove(slot: number, last: number): void {
    const moved = this.read(last)
    if (moved === undefined) this.clear(slot)
    else this.write(slot, moved)
    this.clear(last)
    const pages = countPages(last)
    if (this.#pages.length > pages) this.#pages.length = pages
  }
}
