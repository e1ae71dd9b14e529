import { knownOptions, show } from '../../core/check.ts'
import { encodeScope } from '../../core/key.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import { connectionOf, type RedisClient } from './clients/connect.ts'
import { RedisShelf } from './redis-shelf.ts'
import { getScript, listScripts, type Script } from './script-catalog.ts'
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
  return {
    kind: 'redis',
    open(limiterName, rule) {
      const keys = `${prefix}${encodeScope(limiterName, rule.stateName)}:`
      return new RedisShelf(runner, scriptOf(rule), rule, keys)
    },
    async warmUp() {
      const newest = new Set(listScripts().map(({ name }) => getScript(name)))
      await Promise.all(Array.from(newest, (script) => runner.load(script)))
    },
  }
}

function scriptOf(rule: Rule): Script {
  const script = listScripts().findLast(({ name }) => name === rule.kind)
  if (script !== undefined) return script
  const known = [...new Set(listScripts().map(({ name }) => name))].join(', ')
  throw new LimiterError('INVALID_OPTION', `redisStore has no script for the rule ${show(rule.kind)}: it has ${known}`)
}
