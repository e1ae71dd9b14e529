import { STORE_TIME, systemClock } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Operation } from '../../core/operation.ts'
import { optional, readOptions, whole } from '../../core/read-options.ts'
import type { RuleState } from '../../core/rule.ts'
import type { Decide, Idempotency, Reply, Store, StoreCall } from '../../core/store.ts'
import { MOST_LAG_MS } from '../../engine/key-state.ts'
import { decideJointly } from './decide-jointly.ts'
import { Keyspaces } from './keyspaces.ts'
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

/** Counts of a memory store, over all its limiters. */
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
  readonly name: 'memory'
  /** Answers at once. */
  readonly decide: ((call: StoreCall, reply?: Reply) => readonly LimitResult[]) & Decide
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
 * of those are at their limit, new keys are counted together under one shared state until there is room: no client gets more
 * than the rule allows, and newcomers may get less.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  const { maxKeys } = readOptions('memoryStore()', options, { maxKeys: optional(whole(1, 16_000_000), 250_000) })
  const keyspaces = new Keyspaces(maxKeys)
  const admitted = new Table<Admitted>(maxKeys, undefined, ({ untilMs }, nowMs) => Math.max(0, untilMs - nowMs))
  const one = (operation: Operation, givenMs: number): LimitResult => {
    const nowMs = givenMs === STORE_TIME ? systemClock.nowMs() : givenMs
    return keyspaces.find(operation.limit).keyspace.decide(operation, nowMs, forgetByMs(givenMs, nowMs))
  }
  const decide = ({ operations, nowMs: givenMs, idempotency }: StoreCall): readonly LimitResult[] => {
    if (operations.length === 1 && idempotency === undefined) return [one(operations[0] as Operation, givenMs)]
    const nowMs = givenMs === STORE_TIME ? systemClock.nowMs() : givenMs
    const byMs = forgetByMs(givenMs, nowMs)
    if (idempotency === undefined) return decideJointly(operations, keyspaces, nowMs, byMs).transitions
    return decideOnce(keyspaces, admitted, operations, idempotency, nowMs, byMs)
  }
  return {
    name: 'memory',
    isLocal: true,
    register: (limit) => keyspaces.register(limit),
    unregister: (limit) => keyspaces.unregister(limit),
    decide: Object.assign(decide, { one }),
    clear: (limit) => keyspaces.find(limit).keyspace.clear(),
    stats: () => keyspaces.totals(),
    async close() {
      keyspaces.clear()
    },
  }
}

// A caller's clock may step back by up to a minute and ask again: as on Redis, what it needs then is still there.
function forgetByMs(givenMs: number, nowMs: number): number {
  return givenMs === STORE_TIME ? nowMs : Math.max(0, nowMs - MOST_LAG_MS)
}

/** Decides a call whose idempotency key is new, and answers one that was admitted before with its first results. */
function decideOnce(
  keyspaces: Keyspaces,
  admitted: Table<Admitted>,
  operations: readonly Operation[],
  { key, ttlMs }: Idempotency,
  nowMs: number,
  forgetsByMs: number,
): readonly LimitResult[] {
  // An idempotency key belongs to the first key of its call. Neither scopes nor keys contain a space.
  const first = operations[0] as Operation
  const name = `${keyspaces.find(first.limit).scope} ${first.key} ${key}`
  const known = admitted.read(name, forgetsByMs)
  if (known !== undefined && known.untilMs > nowMs) return known.results
  admitted.assertRoom(name, 'idempotency keys')
  const { allowed, transitions } = decideJointly(operations, keyspaces, nowMs, forgetsByMs)
  if (!allowed) return transitions
  admitted.write(name, { atMs: nowMs, untilMs: nowMs + ttlMs, results: transitions }, nowMs, ttlMs)
  return transitions
}
