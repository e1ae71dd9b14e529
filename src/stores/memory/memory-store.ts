import { knownOptions, wholeNumber } from '../../core/check.ts'
import type { LimitResult } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Operation } from '../../core/operation.ts'
import type { RuleState } from '../../core/rule.ts'
import type { Reply, Store, StoreCall } from '../../core/store.ts'
import type { JointTransition } from '../../engine/decide-all.ts'
import { decideJointly } from './decide-jointly.ts'
import { Keyspaces } from './keyspaces.ts'
import { forgetsBy, timeOf } from './memory-time.ts'
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
  /** Answers at once. */
  decide(call: StoreCall, reply?: Reply): readonly LimitResult[]
  stats(): MemoryStats
}

/** The results that an idempotency key was first answered with. */
interface Admitted extends RuleState {
  readonly untilMs: number
  readonly results: readonly LimitResult[]
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
  const keyspaces = new Keyspaces(maxKeys)
  const admitted = new Table<Admitted>(maxKeys, undefined, ({ untilMs }, nowMs) => Math.max(0, untilMs - nowMs))
  return {
    kind: 'memory',
    register: (limit) => keyspaces.register(limit),
    unregister: (limit) => keyspaces.unregister(limit),
    decide({ operations, nowMs: givenMs, idempotency }) {
      const nowMs = timeOf(givenMs)
      const forgetsByMs = forgetsBy(givenMs, nowMs)
      const first = operations[0] as Operation
      const { scope, keyspace } = keyspaces.of(first.limit)
      if (operations.length === 1 && idempotency === undefined) return [keyspace.decide(first, nowMs, forgetsByMs)]
      const decide = (): JointTransition => {
        const found = operations.map(({ limit }) => keyspaces.of(limit).keyspace)
        return decideJointly(operations, found, nowMs, forgetsByMs)
      }
      if (idempotency === undefined) return decide().transitions
      admitted.reclaim(forgetsByMs)
      // An idempotency key belongs to the first key of its call. Neither scopes nor keys contain a space.
      return decideOnce(admitted, `${scope} ${first.key} ${idempotency.key}`, decide, nowMs, idempotency.ttlMs)
    },
    clear: (limit) => keyspaces.of(limit).keyspace.clear(),
    stats: () => keyspaces.totals(),
    async close() {
      keyspaces.clear()
    },
  }
}

function decideOnce(
  admitted: Table<Admitted>,
  name: string,
  decide: () => JointTransition,
  nowMs: number,
  ttlMs: number,
): readonly LimitResult[] {
  const slot = admitted.find(name)
  const known = slot < 0 ? undefined : admitted.read(slot)
  if (known !== undefined && known.untilMs > nowMs) return known.results
  if (admitted.isFull && slot < 0) {
    const message = `the memory store remembers ${admitted.size} ids already, its maxKeys: nothing was changed`
    throw new LimiterError('STORE_FULL', message)
  }
  const { allowed, transitions } = decide()
  if (!allowed) return transitions
  admitted.delete(name)
  admitted.insert(name, { atMs: nowMs, untilMs: nowMs + ttlMs, results: transitions }, nowMs, ttlMs)
  return transitions
}
