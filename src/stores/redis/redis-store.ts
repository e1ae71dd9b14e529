import { knownOptions, show } from '../../core/check.ts'
import type { Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Store } from '../../core/store.ts'
import { connectionOf, type RedisClient } from './clients/connect.ts'
import { isCrossSlot } from './clients/is-cross-slot.ts'
import { decideAcrossSlots } from './decide-across-slots.ts'
import { decideInOneSlot, type RedisOrder } from './decide-in-one-slot.ts'
import { type DecideChanging, RedisShelf } from './redis-shelf.ts'
import { getScript, listScripts } from './script-catalog.ts'
import { ScriptRunner } from './script-runner.ts'

/** Options of `redisStore`. */
export interface RedisStoreOptions {
  /**
   * What every key starts with, up to 100 characters. A `{tag}` in it puts all keys into one slot of a Cluster.
   * @default 'sluice:'
   */
  readonly prefix?: string
  /**
   * Only for Garnet, which is refused otherwise: it was started with `--lua-transaction-mode`, so its scripts are atomic.
   * @default false
   */
  readonly garnetLuaTransactions?: boolean
}

/** A store on Redis, shared by all processes that reach it. */
export interface RedisStore extends Store {
  readonly kind: 'redis'
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
  knownOptions('redisStore()', options, ['prefix', 'garnetLuaTransactions'])
  const { prefix = 'sluice:', garnetLuaTransactions = false } = options
  if (typeof prefix !== 'string' || prefix.length > 100) {
    throw new LimiterError('INVALID_OPTION', `prefix must be a string of at most 100 characters, got ${show(prefix)}`)
  }
  if (typeof garnetLuaTransactions !== 'boolean') {
    const got = show(garnetLuaTransactions)
    throw new LimiterError('INVALID_OPTION', `garnetLuaTransactions must be true or false, got ${got}`)
  }
  const runner = new ScriptRunner(connectionOf(client), garnetLuaTransactions)
  const decideChanging: DecideChanging = async (shelf, key, request, nowMs, rule) => {
    const { verdicts } = await decideInOneSlot(runner, [{ shelf, key, request, rule, shadow: false }], nowMs)
    return verdicts[0] as Verdict
  }
  let isCluster = false
  return {
    kind: 'redis',
    open: (place) => new RedisShelf(runner, prefix, place, decideChanging),
    async decideTogether(orders, nowMs, memo) {
      const asked = orders as readonly RedisOrder[]
      if (!isCluster) {
        try {
          return (await decideInOneSlot(runner, asked, nowMs, memo)).verdicts
        } catch (error) {
          // A Cluster says so, and has decided nothing.
          if (!isCrossSlot(error)) throw error
          isCluster = true
        }
      }
      return decideAcrossSlots(runner, asked, nowMs, memo)
    },
    async warmUp() {
      const newest = new Set(listScripts().map(({ name }) => getScript(name)))
      await Promise.all(Array.from(newest, (script) => runner.load(script)))
    },
  }
}
