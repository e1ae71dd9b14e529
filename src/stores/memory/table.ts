import { LimiterError } from '../../core/limiter-error.ts'
import type { CompactCodec, RuleState, StateCodec } from '../../core/rule.ts'
import { ExpiryWheel } from './expiry-wheel.ts'
import { KeyIndex } from './key-index.ts'
import { createRows, type Rows } from './rows.ts'

/** How many slots one call may look at: more than one, so that reclaiming keeps ahead of arriving. */
const VISITS = 16

/**
 * Keys and their states in slots. Holds at most `maxKeys`; expired states make room a few at a time, so that no call ever pays for
 * many, and room that is not needed any more is given back on the way.
 */
export class Table<State extends RuleState> {
  /** Where the state of each key is, until the next `reclaim` or `delete`. Expired keys that were not yet reclaimed are among them. */
  readonly keys: KeyIndex = new KeyIndex()
  /** The states by slot. */
  readonly rows: Rows<State>
  readonly #maxKeys: number
  readonly #freshAfterMs: (state: State, nowMs: number) => number
  readonly #expired: ((state: State) => void) | undefined
  readonly #wheel = new ExpiryWheel()
  #hand = 0

  /** @param expired is called with every state that has expired, after it is gone. */
  constructor(
    maxKeys: number,
    cells: StateCodec<State> | CompactCodec<State> | undefined,
    freshAfterMs: (state: State, nowMs: number) => number,
    expired?: (state: State) => void,
  ) {
    this.#expired = expired
    this.#maxKeys = maxKeys
    this.#freshAfterMs = freshAfterMs
    this.rows = createRows(cells)
  }

  /** Whether a new key would find no room. */
  get isFull(): boolean {
    return this.keys.size === this.#maxKeys
  }

  /** The state of a key, after a little of what has expired by then was forgotten. */
  read(key: string, byMs: number): State | undefined {
    this.reclaim(byMs)
    const slot = this.keys.find(key)
    return slot < 0 ? undefined : this.rows.read(slot)
  }

  /** Keeps the state of a key for `lifeMs`, or forgets the key. Answers false, and stores nothing, when there is no room for a new key. */
  write(key: string, state: State | undefined, nowMs: number, lifeMs: number): boolean {
    const slot = this.keys.find(key)
    if (slot < 0) return state === undefined || this.append(state, nowMs, lifeMs)
    if (state === undefined) this.evict(slot)
    else this.rows.write(slot, state)
    return true
  }

  /** Throws where a new key would find no room. `what` names what the table holds. */
  assertRoom(key: string, what: string): void {
    if (!this.isFull || this.keys.find(key) >= 0) return
    const message = `the memory store is full: it has ${this.#maxKeys} ${what}, its maxKeys. Raise maxKeys; nothing was changed`
    throw new LimiterError('STORE_FULL', message)
  }

  /** Keeps the state of the key that `keys` was just asked for and did not find. Answers false, and stores nothing, when the table is full. */
  append(state: State, nowMs: number, lifeMs: number): boolean {
    if (this.isFull) return false
    const slot = this.keys.add()
    this.rows.grow(slot + 1)
    this.#wheel.grow(slot + 1)
    this.rows.write(slot, state)
    this.#wheel.add(slot, nowMs + lifeMs)
    return true
  }

  delete(key: string): void {
    const slot = this.keys.find(key)
    if (slot >= 0) this.evict(slot)
  }

  /** Forgets the key in a slot. */
  evict(slot: number): void {
    this.#wheel.remove(slot)
    this.#release(slot)
  }

  /** Frees a few expired slots, if there are any. To be called with every operation. */
  reclaim(nowMs: number): void {
    if (!this.#wheel.advance(nowMs)) return
    for (let visit = 0; visit < VISITS; visit++) {
      const slot = this.#wheel.take()
      if (slot === -1) return
      // A state that was written since it was noted lives longer: writes leave the wheel alone.
      const state = this.rows.read(slot)
      const leftMs = this.#freshAfterMs(state, nowMs)
      if (leftMs > 0) this.#wheel.add(slot, nowMs + leftMs)
      else {
        this.#release(slot)
        this.#expired?.(state)
      }
    }
  }

  /** The next slot in a round through all of them. Only for a table that holds something. */
  sample(): number {
    this.#hand = (this.#hand + 1) % this.keys.size
    return this.#hand
  }

  /** Lets the last slot take the number of one that the wheel has forgotten. */
  #release(slot: number): void {
    this.keys.remove(slot)
    const last = this.keys.size
    this.rows.remove(slot, last)
    if (slot !== last) this.#wheel.move(last, slot)
    this.#wheel.shrink(last)
  }
}
