import type { RuleState, StateCells } from '../../core/rule.ts'

/** States by slot. */
export interface Rows<State extends RuleState> {
  grow(slots: number): void
  read(slot: number): State
  write(slot: number, state: State): void
  clear(slot: number): void
}

/** Rows of numbers when the rule has a fixed number of cells, objects otherwise. */
export function createRows<State extends RuleState>(cells: StateCells<State> | undefined): Rows<State> {
  return cells === undefined ? new ObjectRows<State>() : new NumberRows(cells)
}

class NumberRows<State extends RuleState> implements Rows<State> {
  readonly #cells: StateCells<State>
  #numbers = new Float64Array(0)

  constructor(cells: StateCells<State>) {
    this.#cells = cells
  }

  grow(slots: number): void {
    const larger = new Float64Array(slots * this.#cells.count)
    larger.set(this.#numbers)
    this.#numbers = larger
  }

  read(slot: number): State {
    return this.#cells.read(this.#numbers, slot * this.#cells.count)
  }

  write(slot: number, state: State): void {
    this.#cells.write(state, this.#numbers, slot * this.#cells.count)
  }

  clear(): void {}
}

class ObjectRows<State extends RuleState> implements Rows<State> {
  readonly #states: (State | undefined)[] = []

  grow(): void {}

  read(slot: number): State {
    return this.#states[slot] as State
  }

  write(slot: number, state: State): void {
    this.#states[slot] = state
  }

  clear(slot: number): void {
    this.#states[slot] = undefined
  }
}
