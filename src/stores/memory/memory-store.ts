import { knownOptions, wholeNumber } from '../../core/check.ts'
import { encodeScope } from '../../core/key.ts'
import type { Store } from '../../core/store.ts'
import { createSpace, MemoryShelf, type Space } from './memory-shelf.ts'

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The most keys that each limiter may hold, 1 to 16,000,000; blocks are counted apart, with the same bound.
   * @default 250_000
   */
  readonly maxKeys?: number
}

/** What a memory store holds and has had to do, over all its limiters. */
export interface MemoryStats {
  /** Keys held, expired ones that were not yet reclaimed included. */
  readonly keys: number
  /** Keys that are blocked. */
  readonly blocks: number
  /** Keys forgotten early to make room for others. None of them was at its limit. */
  readonly evicted: number
  /** Decisions on new keys that found no room and were counted together. */
  readonly shared: number
}

/** A store in this process's memory. */
export interface MemoryStore extends Store {
  readonly kind: 'memory'
  stats(): MemoryStats
}

/**
 * The embedded default: state in this process, bounded, no timers.
 *
 * At `maxKeys` a new key takes the place of the least used of a few others, but never of one that is at its limit. When all
 * of those are at their limit, new keys are counted together under one shared state until there is room: nobody gets more
 * than the rule allows, and newcomers may get less.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  knownOptions('memoryStore()', options, ['maxKeys'])
  const { maxKeys = 250_000 } = options
  wholeNumber('maxKeys', maxKeys, 1, 16_000_000)
  const spaces = new Map<string, Space>()
  return {
    kind: 'memory',
    open(limiterName, rule) {
      const scope = encodeScope(limiterName, rule.stateName)
      const space = spaces.get(scope) ?? createSpace(maxKeys, rule.cells)
      spaces.set(scope, space)
      return new MemoryShelf(rule, space)
    },
    stats: () => totals(spaces.values()),
    async close() {
      spaces.clear()
    },
  }
}

function totals(spaces: Iterable<Space>): MemoryStats {
  const total = { keys: 0, blocks: 0, evicted: 0, shared: 0 }
  for (const space of spaces) {
    total.keys += space.states.size
    total.blocks += space.blocks.size
    total.evicted += space.evicted
    total.shared += space.shared
  }
  return total
}
