import type { RuleState, StateCells } from '../../core/rule.ts'
import { ExpiryWheel } from './expiry-wheel.ts'
import { createRows, type Rows } from './rows.ts'

/** How many slots one call may look at: more than one, so that reclaiming keeps ahead of arriving. */
const VISITS = 16

const SMALLEST = 64

/** Room for more than this many times the keys is given back. */
const MOST_ROOM = 32

/**
 * Keys and their states in slots that are reused. Holds at most `maxKeys`; expired states make room a few at a time, so that no
 * call ever pays for many.
 */
export class Table<State extends RuleState> {
  readonly #maxKeys: number
  readonly #freshAfterMs: (state: State, nowMs: number) => number
  readonly #cells: StateCells<State> | undefined
  readonly #expired: ((key: string) => void) | undefined
  readonly #slots = new Map<string, number>()
  #keys: (string | undefined)[] = []
  #free: number[] = []
  #rows: Rows<State>
  #wheel = new ExpiryWheel()
  #capacity = 0
  #hand = 0

  /** @param expired is told of every key whose state has expired, after it is gone. */
  constructor(
    maxKeys: number,
    cells: StateCells<State> | undefined,
    freshAfterMs: (state: State, nowMs: number) => number,
    expired?: (key: string) => void,
  ) {
    this.#expired = expired
    this.#maxKeys = maxKeys
    this.#freshAfterMs = freshAfterMs
    this.#cells = cells
    this.#rows = createRows(cells)
  }

  /** How many keys are held, expired ones that were not yet reclaimed included. */
  get size(): number {
    return this.#slots.size
  }

  /** Whether a new key would find no room. */
  get isFull(): boolean {
    return this.#slots.size === this.#maxKeys
  }

  /** Where the key's state is, until the next `reclaim` or `delete`; undefined when there is none. */
  slotOf(key: string): number | undefined {
    return this.#slots.get(key)
  }

  read(slot: number): State {
    return this.#rows.read(slot)
  }

  write(slot: number, state: State): void {
    this.#rows.write(slot, state)
  }

  /** Stores a state that lives for `lifeMs` under a new key. Answers false, and stores nothing, when the table is full. */
  insert(key: string, state: State, nowMs: number, lifeMs: number): boolean {
    const slot = this.#allot()
    if (slot === undefined) return false
    this.#occupy(slot, key, state, nowMs + lifeMs)
    return true
  }

  delete(key: string): void {
    const slot = this.#slots.get(key)
    if (slot === undefined) return
    this.#wheel.remove(slot)
    this.#release(slot, key)
  }

  /** Frees a few expired slots, if there are any. To be called with every operation. */
  reclaim(nowMs: number): void {
    this.#wheel.advance(nowMs)
    for (let visit = 0; visit < VISITS; visit++) {
      const slot = this.#wheel.take()
      if (slot === -1) break
      // A state that was written since it was noted lives longer: writes leave the wheel alone.
      const leftMs = this.#freshAfterMs(this.#rows.read(slot), nowMs)
      if (leftMs > 0) this.#wheel.add(slot, nowMs + leftMs)
      else this.#expire(slot, this.keyOf(slot))
    }
    if (this.#capacity > SMALLEST && this.#capacity > this.#slots.size * MOST_ROOM) this.#shrink(nowMs)
  }

  /** The next slot in a round through all of them. Only for a full table, which has no empty slots. */
  sample(): number {
    this.#hand = (this.#hand + 1) % this.#keys.length
    return this.#hand
  }

  keyOf(slot: number): string {
    return this.#keys[slot] as string
  }

  #allot(): number | undefined {
    const free = this.#free.pop()
    if (free !== undefined) return free
    const slot = this.#keys.length
    if (slot === this.#maxKeys) return undefined
    if (slot === this.#capacity) this.#reserve(Math.ceil(this.#capacity * 1.5))
    this.#keys.push(undefined)
    return slot
  }

  #occupy(slot: number, key: string, state: State, dueMs: number): void {
    this.#keys[slot] = key
    this.#slots.set(key, slot)
    this.#rows.write(slot, state)
    this.#wheel.add(slot, dueMs)
  }

  #reserve(slots: number): void {
    this.#capacity = Math.min(this.#maxKeys, Math.max(SMALLEST, slots))
    this.#rows.grow(this.#capacity)
    this.#wheel.grow(this.#capacity)
  }

  /** Moves the few keys that are left after a flood into small arrays. */
  #shrink(nowMs: number): void {
    const rows = this.#rows
    this.#rows = createRows(this.#cells)
    this.#wheel = new ExpiryWheel()
    this.#wheel.advance(nowMs)
    this.#keys = []
    this.#free = []
    this.#reserve(this.#slots.size * 2)
    for (const [key, slot] of this.#slots) {
      const state = rows.read(slot)
      const moved = this.#keys.push(undefined) - 1
      this.#occupy(moved, key, state, nowMs + this.#freshAfterMs(state, nowMs))
    }
  }

  #expire(slot: number, key: string): void {
    this.#release(slot, key)
    this.#expired?.(key)
  }

  #release(slot: number, key: string): void {
    this.#slots.delete(key)
    this.#keys[slot] = undefined
    this.#rows.clear(slot)
    this.#free.push(slot)
  }
}
