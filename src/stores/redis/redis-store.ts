import { invalidOption, trueOrFalse } from '../../core/check.ts'
import { optional, readOptions, whole } from '../../core/read-options.ts'
import { isRequestBound } from '../../core/request-bound.ts'
import type { Store } from '../../core/store.ts'
import { describePresence } from '../failover/presence.ts'
import { addLayers } from '../remote-layers.ts'
import { openConnection, type RedisClient } from './clients/connect.ts'
import { RedisCalls } from './redis-calls.ts'
import { DEFAULT_PREFIX } from './redis-keyspace.ts'
import { getScript, listScripts } from './script-catalog.ts'

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * What every key starts with, up to 100 characters. A `{tag}` in it puts all keys into one slot of a Cluster.
   * @default 'sluice:'
   */
  readonly prefix?: string
  /**
   * How many decisions may go to the server in one call, 1 to 1,000. With 1 every decision is a call of its own: for a proxy that
   * spreads keys over several servers and does not say so.
   * @default 64
   */
  readonly maxBatch?: number
  /**
   * Only for Garnet, which is refused otherwise: it was started with `--lua-transaction-mode`, so its scripts are atomic.
   * @default false
   */
  readonly garnetLuaTransactions?: boolean
}

/** A store on Redis, shared by all processes that reach it. */
export interface RedisStore extends Store {
  readonly name: 'redis'
  /** Loads all scripts on every primary, so that the first decision need not. Rejects when a server cannot be reached. */
  warmUp(): Promise<void>
}

/**
 * Keeps the state on Redis, Valkey or a Cluster of them, through a client that is yours: its connection, its settings, its end.
 * Nothing is sent before the first decision, so the client may connect later.
 *
 * @param client of ioredis, node-redis, iovalkey or Valkey GLIDE, or an object with `send` and `sendToAll`.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  const { prefix, maxBatch, garnetLuaTransactions } = readOptions('redisStore()', options, {
    prefix: optional(checkPrefix, DEFAULT_PREFIX),
    maxBatch: optional(whole(1, 1_000), 64),
    garnetLuaTransactions: optional(trueOrFalse, false),
  })
  // A call that decisions of several requests share would end with one of them.
  const together = isRequestBound() ? 1 : maxBatch
  const calls = new RedisCalls(openConnection(client), prefix, together, garnetLuaTransactions)
  return {
    name: 'redis',
    isLocal: false,
    layers: (store, layers) => addLayers(store, layers, describePresence()),
    realTime: true,
    register: (limit) => calls.register(limit),
    decide: calls.decide,
    clear: (limit) => calls.clear(limit),
    trouble: () => calls.runner.trouble(),
    async warmUp() {
      const newest = new Set(listScripts().map(({ name }) => getScript(name)))
      await Promise.all(Array.from(newest, (script) => calls.runner.load(script)))
    },
  }
}

function checkPrefix(what: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= 100) return value
  throw invalidOption(what, 'a string of at most 100 characters', value)
}
