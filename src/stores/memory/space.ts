import { type Block, blockedForMs, type Entry, freshAfterMs, type Ruling } from '../../core/entry.ts'
import type { Hold } from '../../core/holds.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Rule, RuleState, StateCells } from '../../core/rule.ts'
import { Table } from './table.ts'

/** How many keys are looked at to find one that may be forgotten. */
const CANDIDATES = 8

/** An entry, and where its state is. */
export interface Found extends Entry {
  readonly slot: number | undefined
  /** Whether the state is the one of all keys that found no room. */
  readonly shared: boolean
}

/** A state that says by which rule it was counted. */
interface Stamped extends RuleState {
  readonly state: RuleState
  readonly madeBy: Rule
  readonly takenOver: boolean | undefined
}

/** The holds of a key, until the key as a whole is as if untouched: what expired holds give back is not yet in its state. */
interface HoldList extends RuleState {
  readonly holds: readonly Hold[]
  readonly madeBy: Rule | undefined
  readonly takenOver: boolean | undefined
  readonly freshMs: number
}

/** The keys of one scope: their states, blocks and holds, each bounded by `maxKeys`. Shelves of the same scope share it. */
export class Space {
  /** The rules that the keys are counted by, by their parameters: a state is expired when it is for all of them. */
  readonly #rules = new Map<string, Rule>()
  readonly #states: Table<RuleState>
  readonly #blocks: Table<Block>
  readonly #holds: Table<HoldList>
  readonly #maxKeys: number
  readonly #changing: boolean
  #strangers: RuleState | undefined
  evicted = 0
  shared = 0

  /** @param changing whether every state has a rule of its own. */
  constructor(maxKeys: number, cells: StateCells | undefined, changing: boolean) {
    this.#maxKeys = maxKeys
    this.#changing = changing
    this.#states = new Table(maxKeys, changing ? undefined : cells, (state, nowMs) => this.#stateLifeMs(state, nowMs))
    this.#blocks = new Table(maxKeys, blockCells, blockedForMs)
    const holdsLifeMs = ({ freshMs }: HoldList, nowMs: number): number => Math.max(0, freshMs - nowMs)
    this.#holds = new Table(maxKeys, undefined, holdsLifeMs, (key) => this.#states.delete(key))
  }

  get keys(): number {
    return this.#states.size
  }

  get blocks(): number {
    return this.#blocks.size
  }

  /** Notes that keys are counted by `rule`. */
  join(rule: Rule): void {
    if (!this.#changing) this.#rules.set(JSON.stringify(rule.parameters), rule)
  }

  /** Forgets a little of what has expired. To be called before every decision; what was found before is not valid any more. */
  reclaim(nowMs: number): void {
    this.#states.reclaim(nowMs)
  }

  /** The entry of a key. */
  find(key: string, nowMs: number): Found {
    const list = this.#holds.size === 0 ? undefined : this.#holdsOf(key, nowMs)
    const slot = this.#states.slotOf(key)
    const kept = slot === undefined ? undefined : this.#states.read(slot)
    const block = this.#blocks.size === 0 ? undefined : read(this.#blocks, key, nowMs)
    const { madeBy, takenOver } = this.#stampOf(kept) ?? list ?? UNSTAMPED
    return { state: this.#stateIn(kept), madeBy, takenOver, block, holds: list?.holds, slot, shared: false }
  }

  /** The entry of a key that found no room. */
  findShared(found: Found): Found {
    const kept = this.#strangers
    const { madeBy, takenOver } = this.#stampOf(kept) ?? UNSTAMPED
    return { ...found, state: this.#stateIn(kept), madeBy, takenOver, shared: true }
  }

  /**
   * Whether there is room for what a ruling has to keep; makes some if it must.
   * Throws, with nothing changed, when blocks or holds find none.
   */
  hasRoom(key: string, found: Found, ruling: Ruling, rule: Rule, nowMs: number): boolean {
    if (ruling.block !== found.block && ruling.block !== undefined) this.#demandRoom(this.#blocks, key, 'blocks')
    if (ruling.holds !== found.holds && ruling.holds?.length) this.#demandRoom(this.#holds, key, 'keys with holds')
    const isNew = found.slot === undefined && ruling.state !== undefined && ruling.state !== found.state
    return !isNew || found.shared || !this.#states.isFull || this.#makeRoom(rule, nowMs)
  }

  /** Keeps what has changed. */
  keep(key: string, found: Found, ruling: Ruling, nowMs: number): void {
    const { state, block, holds, resetAfterMs, takenOver } = ruling
    const madeBy = this.#changing ? ruling.madeBy : undefined
    const changed = state !== found.state || madeBy !== found.madeBy
    if (block !== found.block) write(this.#blocks, key, block, nowMs, blockedForMs(block, nowMs))
    if (holds !== found.holds || (changed && holds !== undefined)) {
      const list = holds?.length ? { atMs: nowMs, holds, madeBy, takenOver, freshMs: nowMs + resetAfterMs } : undefined
      write(this.#holds, key, list, nowMs, resetAfterMs)
    }
    if (found.shared) this.shared++
    if (!changed) return
    const kept = state !== undefined && madeBy !== undefined ? { atMs: state.atMs, state, madeBy, takenOver } : state
    if (found.shared) this.#strangers = kept
    else if (kept === undefined) this.#states.delete(key)
    else if (found.slot !== undefined) this.#states.write(found.slot, kept)
    else this.#states.insert(key, kept, nowMs, resetAfterMs)
  }

  #holdsOf(key: string, nowMs: number): HoldList | undefined {
    const list = read(this.#holds, key, nowMs)
    if (list === undefined || list.freshMs > nowMs) return list
    this.#holds.delete(key)
    this.#states.delete(key)
    return undefined
  }

  #stateIn(kept: RuleState | undefined): RuleState | undefined {
    return this.#changing ? (kept as Stamped | undefined)?.state : kept
  }

  #stampOf(kept: RuleState | undefined): Stamped | undefined {
    return this.#changing ? (kept as Stamped | undefined) : undefined
  }

  #stateLifeMs(kept: RuleState, nowMs: number): number {
    if (this.#changing) return freshAfterMs((kept as Stamped).madeBy, (kept as Stamped).state, nowMs)
    let longestMs = 0
    for (const rule of this.#rules.values()) longestMs = Math.max(longestMs, freshAfterMs(rule, kept, nowMs))
    return longestMs
  }

  #demandRoom<State extends RuleState>(table: Table<State>, key: string, what: string): void {
    if (!table.isFull || table.slotOf(key) !== undefined) return
    const message = `the memory store holds ${this.#maxKeys} ${what} already, its maxKeys: nothing was changed`
    throw new LimiterError('STORE_FULL', message)
  }

  /** Forgets the least used of a few keys, unless all of them are at their limit. */
  #makeRoom(rule: Rule, nowMs: number): boolean {
    let victim: number | undefined
    let most = 0
    for (let candidate = 0; candidate < CANDIDATES; candidate++) {
      const slot = this.#states.sample()
      const kept = this.#states.read(slot)
      const maker = this.#stampOf(kept)?.madeBy ?? rule
      const { remaining } = maker.step(this.#stateIn(kept), Math.max(nowMs, kept.atMs), 0, true)
      if (remaining <= most) continue
      victim = slot
      most = remaining
    }
    if (victim === undefined) return false
    this.#states.delete(this.#states.keyOf(victim))
    this.evicted++
    return true
  }
}

const UNSTAMPED: Pick<Stamped, 'takenOver'> & { readonly madeBy: undefined } = {
  madeBy: undefined,
  takenOver: undefined,
}

function read<State extends RuleState>(table: Table<State>, key: string, nowMs: number): State | undefined {
  table.reclaim(nowMs)
  const slot = table.slotOf(key)
  return slot === undefined ? undefined : table.read(slot)
}

function write<State extends RuleState>(
  table: Table<State>,
  key: string,
  value: State | undefined,
  nowMs: number,
  lifeMs: number,
): void {
  const slot = table.slotOf(key)
  if (value === undefined) table.delete(key)
  else if (slot !== undefined) table.write(slot, value)
  else table.insert(key, value, nowMs, lifeMs)
}

const blockCells: StateCells<Block> = {
  count: 2,
  write(block, row, at) {
    row[at] = block.atMs
    row[at + 1] = block.untilMs
  },
  read: (row, at) => ({ atMs: row[at] as number, untilMs: row[at + 1] as number }),
}
