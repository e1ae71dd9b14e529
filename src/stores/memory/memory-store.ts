import { knownOptions, wholeNumber } from '../../core/check.ts'
import type { Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { RuleState } from '../../core/rule.ts'
import type { Memo, Order, Store } from '../../core/store.ts'
import { decideOrders, type MemoryOrder } from './decide-orders.ts'
import { forgetsBy, timeOf } from './memory-time.ts'
import { Spaces } from './spaces.ts'
import { Table } from './table.ts'

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The most keys that each limit may hold, 1 to 16,000,000; blocks, keys with holds and ids are counted apart, with the same
   * bound.
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

/** The verdicts that an id was first answered with. */
interface Remembered extends RuleState {
  readonly untilMs: number
  readonly verdicts: readonly Verdict[]
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
  const spaces = new Spaces(maxKeys)
  const memos = new Table<Remembered>(maxKeys, undefined, ({ untilMs }, nowMs) => Math.max(0, untilMs - nowMs))
  return {
    kind: 'memory',
    open: (place) => spaces.open(place),
    decideTogether(orders, givenMs, memo) {
      const nowMs = timeOf(givenMs)
      const forgetsByMs = forgetsBy(givenMs, nowMs)
      if (memo === undefined) return decideOrders(orders as readonly MemoryOrder[], nowMs, forgetsByMs).rulings
      return decideOnce(memos, orders as readonly MemoryOrder[], nowMs, forgetsByMs, memo, maxKeys)
    },
    stats: () => spaces.totals(),
    async close() {
      spaces.clear()
    },
  }
}

function decideOnce(
  memos: Table<Remembered>,
  orders: readonly MemoryOrder[],
  nowMs: number,
  forgetsByMs: number,
  memo: Memo,
  maxKeys: number,
): readonly Verdict[] {
  const name = memoName(orders, memo)
  memos.reclaim(forgetsByMs)
  const slot = memos.find(name)
  const known = slot < 0 ? undefined : memos.read(slot)
  if (known !== undefined && known.untilMs > nowMs) return known.verdicts
  if (memos.isFull && slot < 0) {
    throw new LimiterError(
      'STORE_FULL',
      `the memory store remembers ${maxKeys} ids already, its maxKeys: nothing was changed`,
    )
  }
  const { allowed, rulings } = decideOrders(orders, nowMs, forgetsByMs)
  if (!allowed) return rulings
  memos.delete(name)
  memos.insert(name, { atMs: nowMs, untilMs: nowMs + memo.ms, verdicts: rulings }, nowMs, memo.ms)
  return rulings
}

// An id belongs to the first key of its decision. Neither scopes nor keys contain a space.
function memoName(orders: readonly Order[], { id }: Memo): string {
  const [first] = orders as readonly MemoryOrder[]
  return `${first?.shelf.scope} ${first?.key} ${id}`
}
