import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import type { CompactCodec, Rule, RuleState, StateCodec } from '../../core/rule.ts'
import { composeResult, stepPlain } from '../../engine/consume.ts'
import { decide } from '../../engine/decide.ts'
import { freshAfterMs, type KeyState, type Transition } from '../../engine/key-state.ts'
import { CountingLimits } from './counting-limits.ts'
import { blockCells, type HoldList, type KeptBlock, lifeMs } from './kept.ts'
import { Table } from './table.ts'

/** How many keys are looked at to find one that may be forgotten. */
const CANDIDATES = 8

/** How often a deserted space looks for what has expired before it is left for later. */
const ROUNDS = 64

/** What is stored of a key, and whether it has a state of its own. */
export interface Found extends KeyState {
  readonly isKept: boolean
  /** Whether the state is the one of all keys that found no room. */
  readonly shared: boolean
}

/** A state that says by which rule it was counted. */
interface Stamped extends RuleState {
  readonly state: RuleState
  readonly countedBy: Rule
  readonly convertedOnRefusal: boolean | undefined
}

/** The keys of one scope: their states, blocks and holds, each bounded by `maxKeys`. Limits of the same scope share it. */
export class Keyspace {
  /** The limits that the keys are counted by. */
  readonly limits: CountingLimits
  #states!: Table<RuleState>
  #blocks!: Table<KeptBlock>
  #holds!: Table<HoldList>
  readonly #maxKeys: number
  readonly #changing: boolean
  readonly #cells: StateCodec | CompactCodec | undefined
  #strangers: RuleState | undefined
  evicted = 0
  shared = 0
  /** When something was last asked of it. */
  lastMs = 0

  /**
   * @param changing whether every state has a rule of its own.
   * @param deserted is called when there is no limit any more that could ask.
   */
  constructor(maxKeys: number, cells: StateCodec | CompactCodec | undefined, changing: boolean, deserted?: () => void) {
    this.limits = new CountingLimits(changing, deserted)
    this.#maxKeys = maxKeys
    this.#changing = changing
    this.#cells = changing ? undefined : cells
    this.clear()
  }

  /** Forgets all keys. */
  clear(): void {
    this.#states = new Table(this.#maxKeys, this.#cells, (state, nowMs) => this.#stateLifeMs(state, nowMs))
    this.#blocks = new Table(this.#maxKeys, blockCells, lifeMs)
    this.#holds = new Table<HoldList>(this.#maxKeys, undefined, lifeMs, ({ key }) => this.#states.delete(key))
    this.#strangers = undefined
  }

  get keys(): number {
    return this.#states.keys.size
  }

  get blocks(): number {
    return this.#blocks.keys.size
  }

  /** Whether nothing in it counts any more. Forgets some of what has expired on the way. */
  isUntouched(nowMs: number): boolean {
    for (let round = 0; round < ROUNDS; round++) {
      for (const table of [this.#states, this.#blocks, this.#holds]) table.reclaim(nowMs)
      if (this.#states.keys.size + this.#blocks.keys.size + this.#holds.keys.size > 0) continue
      return this.#strangers === undefined || this.#stateLifeMs(this.#strangers, nowMs) === 0
    }
    return false
  }

  /**
   * Forgets a little of what has expired by then. To be called before every decision; what was found before is not valid any more.
   */
  reclaim(byMs: number): void {
    this.lastMs = byMs
    this.#states.reclaim(byMs)
  }

  /** Decides one operation, and keeps what has changed. */
  decide(operation: Operation, nowMs: number, forgetsByMs: number): LimitResult {
    const { key, rule } = operation
    this.lastMs = forgetsByMs
    this.#states.reclaim(forgetsByMs)
    const isPlain = !this.#changing && this.#holds.keys.size === 0 && this.#blocks.keys.size === 0
    if (isPlain && operation.type === 'consume' && operation.blockMs === 0) {
      const result = this.#consumePlain(key, rule, operation.amount, nowMs)
      if (result !== undefined) return result
    }
    let found = this.find(key, forgetsByMs)
    let transition = decide(operation, found, nowMs)
    if (!this.hasRoom(key, found, transition, rule, nowMs)) {
      found = this.findShared(found)
      transition = decide(operation, found, nowMs)
    }
    this.keep(key, found, transition, nowMs)
    return transition
  }

  /** The same at the cost of one look, where a key has a state and nothing else. Undefined, with nothing changed, when it is not that simple. */
  #consumePlain(key: string, rule: Rule, cost: number, nowMs: number): LimitResult | undefined {
    const states = this.#states
    const slot = states.keys.find(key)
    const result = stepPlain(rule, slot < 0 ? undefined : states.rows.read(slot), cost, nowMs)
    if (result === undefined) return undefined
    if (result.retryAfterMs === 0) {
      if (slot >= 0) states.rows.write(slot, result.state)
      else if (!states.append(result.state, nowMs, result.resetAfterMs)) return undefined
    }
    return composeResult(result)
  }

  /**
   * What is stored of a key.
   *
   * @param byMs what has expired by then may be forgotten.
   */
  find(key: string, byMs: number): Found {
    const list = this.#holds.keys.size === 0 ? undefined : this.#readHolds(key, byMs)
    const slot = this.#states.keys.find(key)
    const kept = slot < 0 ? undefined : this.#states.rows.read(slot)
    const block = this.#blocks.keys.size === 0 ? undefined : this.#blocks.read(key, byMs)
    const { countedBy, convertedOnRefusal } = this.#readStamp(kept) ?? list ?? UNSTAMPED
    return {
      state: slot < 0 ? list?.state : this.#readState(kept),
      countedBy,
      convertedOnRefusal,
      block,
      holds: list?.holds,
      grants: list?.grants,
      isKept: slot >= 0,
      shared: false,
    }
  }

  /** What is stored of a key that found no room. */
  findShared(found: Found): Found {
    const kept = this.#strangers
    const { countedBy, convertedOnRefusal } = this.#readStamp(kept) ?? UNSTAMPED
    return { ...found, state: this.#readState(kept), countedBy, convertedOnRefusal, shared: true }
  }

  /**
   * Whether there is room for what a transition has to keep; makes some if it must.
   * Throws, with nothing changed, when blocks or holds find none.
   */
  hasRoom(key: string, found: Found, transition: Transition, rule: Rule, nowMs: number): boolean {
    if (transition.block !== found.block && transition.block !== undefined) {
      this.#forgetBlock(nowMs)
      this.#blocks.assertRoom(key, 'blocks')
    }
    const { holds, grants } = transition
    if (haveChanged(found, transition) && (holds !== undefined || grants !== undefined))
      this.#holds.assertRoom(key, 'keys with holds')
    const isNew = !found.isKept && transition.state !== undefined && transition.state !== found.state
    return !isNew || found.shared || !this.#states.isFull || this.#makeRoom(rule, nowMs)
  }

  /** Keeps what has changed. */
  keep(key: string, found: Found, transition: Transition, nowMs: number): void {
    const { state, block, holds, grants, resetAfterMs, convertedOnRefusal } = transition
    const countedBy = this.#changing ? transition.countedBy : undefined
    const restamped =
      countedBy !== found.countedBy || (this.#changing && convertedOnRefusal !== found.convertedOnRefusal)
    const changed = state !== found.state || restamped
    // A refusal leaves a state that another rule counted as it is: block and holds last as long as that does.
    const lastsMs =
      state === undefined || countedBy === undefined
        ? resetAfterMs
        : Math.max(resetAfterMs, freshAfterMs(countedBy, state, nowMs))
    if (block !== found.block || (changed && block !== undefined)) {
      this.#blocks.write(key, block && { ...block, freshMs: nowMs + lastsMs }, nowMs, lastsMs)
    }
    const hasList = holds !== undefined || grants !== undefined
    if (haveChanged(found, transition) || (changed && hasList)) {
      const stays = grants === undefined ? undefined : state
      const freshMs = nowMs + lastsMs
      const list = { atMs: nowMs, key, holds, grants, state: stays, countedBy, convertedOnRefusal, freshMs }
      this.#holds.write(key, hasList ? list : undefined, nowMs, lastsMs)
    }
    if (found.shared) this.shared++
    if (!changed) return
    const kept =
      state !== undefined && countedBy !== undefined
        ? { atMs: state.atMs, state, countedBy, convertedOnRefusal }
        : state
    if (found.shared) this.#strangers = kept
    else this.#states.write(key, kept, nowMs, resetAfterMs)
  }

  #readHolds(key: string, byMs: number): HoldList | undefined {
    const list = this.#holds.read(key, byMs)
    if (list === undefined || list.freshMs > byMs) return list
    this.#holds.delete(key)
    this.#states.delete(key)
    return undefined
  }

  #readState(kept: RuleState | undefined): RuleState | undefined {
    return this.#changing ? (kept as Stamped | undefined)?.state : kept
  }

  #readStamp(kept: RuleState | undefined): Stamped | undefined {
    return this.#changing ? (kept as Stamped | undefined) : undefined
  }

  #stateLifeMs(kept: RuleState, nowMs: number): number {
    if (this.#changing) return freshAfterMs((kept as Stamped).countedBy, (kept as Stamped).state, nowMs)
    return this.limits.lifeMs(kept, nowMs)
  }

  /** Where there is no room for another block, forgets one that is over, if a few show one. */
  #forgetBlock(nowMs: number): void {
    for (let candidate = 0; candidate < CANDIDATES && this.#blocks.isFull; candidate++) {
      const slot = this.#blocks.sample()
      if (this.#blocks.rows.read(slot).untilMs <= nowMs) this.#blocks.evict(slot)
    }
  }

  /** Forgets the least used of a few keys, unless all of them are at their limit. */
  #makeRoom(rule: Rule, nowMs: number): boolean {
    let victim: number | undefined
    let most = 0
    for (let candidate = 0; candidate < CANDIDATES; candidate++) {
      const slot = this.#states.sample()
      const kept = this.#states.rows.read(slot)
      const maker = this.#readStamp(kept)?.countedBy ?? rule
      const { remaining } = maker.step(this.#readState(kept), Math.max(nowMs, kept.atMs), 0)
      if (remaining <= most) continue
      victim = slot
      most = remaining
    }
    if (victim === undefined) return false
    this.#states.evict(victim)
    this.evicted++
    return true
  }
}

function haveChanged(found: KeyState, { holds, grants }: KeyState): boolean {
  return holds !== found.holds || grants !== found.grants
}

const UNSTAMPED: Pick<Stamped, 'convertedOnRefusal'> & { readonly countedBy: undefined } = {
  countedBy: undefined,
  convertedOnRefusal: undefined,
}
