import { readClock, STORE_TIME, systemClock } from '../../core/clock.ts'
import * as decide from '../../core/decide.ts'
import type { Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Rule, RuleState, StateCells } from '../../core/rule.ts'
import type { Shelf } from '../../core/store.ts'
import { Table } from './table.ts'

/** How many keys are looked at to find one that may be forgotten. */
const CANDIDATES = 8

/** What one scope of keys holds. Shelves of the same scope share it. */
export interface Space {
  readonly maxKeys: number
  /** The rules that the keys are counted by, by their parameters: a state is expired when it is for all of them. */
  readonly rules: Map<string, Rule>
  readonly states: Table<RuleState>
  readonly blocks: Table<decide.Block>
  /** The one state of all keys that found no room. */
  strangers: RuleState | undefined
  evicted: number
  shared: number
}

/** An empty space for `maxKeys` states of this layout and as many blocks. */
export function createSpace(maxKeys: number, cells: StateCells | undefined): Space {
  const rules = new Map<string, Rule>()
  return {
    maxKeys,
    rules,
    states: new Table(maxKeys, cells, (state, nowMs) => {
      let longestMs = 0
      for (const rule of rules.values()) longestMs = Math.max(longestMs, decide.freshAfterMs(rule, state, nowMs))
      return longestMs
    }),
    blocks: new Table(maxKeys, blockCells, decide.blockedForMs),
    strangers: undefined,
    evicted: 0,
    shared: 0,
  }
}

type Operation = (rule: Rule, entry: decide.Entry, amount: number, nowMs: number) => decide.Ruling

/** One limiter's keys in memory. Every operation is done before it returns, and so is atomic. */
export class MemoryShelf implements Shelf {
  readonly #rule: Rule
  readonly #space: Space

  constructor(rule: Rule, space: Space) {
    this.#rule = rule
    this.#space = space
    space.rules.set(JSON.stringify(rule.parameters), rule)
  }

  consume(key: string, cost: number, nowMs: number): Verdict {
    return this.#run(decide.consume, key, cost, nowMs)
  }

  peek(key: string, cost: number, nowMs: number): Verdict {
    return this.#run(decide.peek, key, cost, nowMs)
  }

  charge(key: string, amount: number, nowMs: number): Verdict {
    return this.#run(decide.adjust, key, amount, nowMs)
  }

  giveBack(key: string, amount: number, nowMs: number): Verdict {
    return this.#run(decide.adjust, key, -amount, nowMs)
  }

  block(key: string, blockMs: number, nowMs: number): Verdict {
    return this.#run(decide.block, key, blockMs, nowMs)
  }

  unblock(key: string, nowMs: number): Verdict {
    return this.#run(decide.unblock, key, 1, nowMs)
  }

  reset(key: string, nowMs: number): Verdict {
    return this.#run(decide.reset, key, 1, nowMs)
  }

  #run(operation: Operation, key: string, amount: number, givenMs: number): Verdict {
    const { states, blocks } = this.#space
    const nowMs = givenMs === STORE_TIME ? readClock(systemClock) : givenMs
    states.reclaim(nowMs)
    const slot = states.slotOf(key)
    const state = slot === undefined ? undefined : states.read(slot)
    const block = blocks.size === 0 ? undefined : this.#blockOf(key, nowMs)
    const ruling = operation(this.#rule, { state, block }, amount, nowMs)
    if (ruling.block !== block) this.#storeBlock(key, ruling.block, nowMs)
    if (ruling.state === state) return ruling
    if (ruling.state === undefined) states.delete(key)
    else if (slot !== undefined) states.write(slot, ruling.state)
    else if (!states.insert(key, ruling.state, nowMs, ruling.resetAfterMs)) {
      if (!this.#makeRoom(nowMs)) return this.#runShared(operation, block, amount, nowMs)
      states.insert(key, ruling.state, nowMs, ruling.resetAfterMs)
    }
    return ruling
  }

  #blockOf(key: string, nowMs: number): decide.Block | undefined {
    const { blocks } = this.#space
    blocks.reclaim(nowMs)
    const slot = blocks.slotOf(key)
    return slot === undefined ? undefined : blocks.read(slot)
  }

  #storeBlock(key: string, block: decide.Block | undefined, nowMs: number): void {
    const { blocks, maxKeys } = this.#space
    const slot = blocks.slotOf(key)
    if (block === undefined) blocks.delete(key)
    else if (slot !== undefined) blocks.write(slot, block)
    else if (!blocks.insert(key, block, nowMs, decide.blockedForMs(block, nowMs))) {
      const message = `the memory store holds ${maxKeys} blocks already, its maxKeys: nothing was changed`
      throw new LimiterError('STORE_FULL', message)
    }
  }

  /** Forgets the least used of a few keys, unless all of them are at their limit. */
  #makeRoom(nowMs: number): boolean {
    const { states } = this.#space
    let victim: number | undefined
    let most = 0
    for (let candidate = 0; candidate < CANDIDATES; candidate++) {
      const slot = states.sample()
      const { remaining } = decide.peek(this.#rule, { state: states.read(slot), block: undefined }, 0, nowMs)
      if (remaining <= most) continue
      victim = slot
      most = remaining
    }
    if (victim === undefined) return false
    states.delete(states.keyOf(victim))
    this.#space.evicted++
    return true
  }

  #runShared(operation: Operation, block: decide.Block | undefined, amount: number, nowMs: number): Verdict {
    const ruling = operation(this.#rule, { state: this.#space.strangers, block }, amount, nowMs)
    this.#space.strangers = ruling.state
    this.#space.shared++
    return ruling
  }
}

const blockCells: StateCells<decide.Block> = {
  count: 2,
  write(block, row, at) {
    row[at] = block.atMs
    row[at + 1] = block.untilMs
  },
  read: (row, at) => ({ atMs: row[at] as number, untilMs: row[at + 1] as number }),
}
