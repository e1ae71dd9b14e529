import { knownOptions, show, wholeNumber } from '../../core/check.ts'
import { timerNowMs } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Operation } from '../../core/operation.ts'
import type { Idempotency, Reply, Store, StoreCall } from '../../core/store.ts'
import { remoteLayers } from '../remote-layers.ts'
import { BatchScheduler } from './batch-scheduler.ts'
import { connectionOf, type RedisClient } from './clients/connect.ts'
import { isCrossSlot } from './clients/server-words.ts'
import { decideAcrossSlots } from './decide-across-slots.ts'
import { decideInOneSlot, type Located } from './decide-in-one-slot.ts'
import { sendInOrder } from './key-order.ts'
import { DEFAULT_PREFIX, RedisKeyspace } from './redis-keyspace.ts'
import { getScript, listScripts } from './script-catalog.ts'
import { type How, ScriptRunner } from './script-runner.ts'
import { SlotLayout } from './slot-layout.ts'
import { TierBatch } from './tier-batch.ts'

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
  knownOptions('redisStore()', options, ['prefix', 'maxBatch', 'garnetLuaTransactions'])
  const { prefix = DEFAULT_PREFIX, maxBatch = 64, garnetLuaTransactions = false } = options
  if (typeof prefix !== 'string' || prefix.length > 100) {
    throw new LimiterError('INVALID_OPTION', `prefix must be a string of at most 100 characters, got ${show(prefix)}`)
  }
  if (typeof garnetLuaTransactions !== 'boolean') {
    const got = show(garnetLuaTransactions)
    throw new LimiterError('INVALID_OPTION', `garnetLuaTransactions must be true or false, got ${got}`)
  }
  const connection = connectionOf(client)
  const runner = new ScriptRunner(connection, garnetLuaTransactions)
  const batcher = new BatchScheduler(wholeNumber('maxBatch', maxBatch, 1, 1_000))
  const layout = new SlotLayout(connection.isCluster === true, connection.keepsKeysApart !== true)
  const keyspaces = new WeakMap<Limit, RedisKeyspace>()
  const keyspaceOf = (limit: Limit): RedisKeyspace => {
    const known = keyspaces.get(limit)
    if (known !== undefined) return known
    throw new LimiterError(
      'INVALID_ARGUMENT',
      `the limit "${limit.name}" is not registered with this store. Call store.register(limit) first`,
    )
  }
  let hasSlots = false
  const decideAlone = async (
    located: readonly Located[],
    nowMs: number,
    timeoutMs: number,
    idempotency?: Idempotency,
  ): Promise<readonly LimitResult[]> => {
    const timely = runner.asking(howOf(located, timeoutMs))
    if (!hasSlots) {
      try {
        return (await decideInOneSlot(timely, located, nowMs, idempotency)).results
      } catch (error) {
        // A Cluster says so, and has decided nothing.
        if (!isCrossSlot(error)) throw error
        hasSlots = true
      }
    }
    return decideAcrossSlots(timely, located, nowMs, idempotency)
  }
  let tierBatch: TierBatch | undefined
  const joining = (keyspace: RedisKeyspace): void => {
    if (tierBatch?.concerns(keyspace) === true) tierBatch = undefined
  }
  const addToTiers = (located: readonly Located[], { operations, nowMs, timeoutMs }: StoreCall, reply: Reply): void => {
    for (const { keyspace } of located) keyspace.closeBatch()
    if (tierBatch === undefined || !tierBatch.takes(located, nowMs)) {
      const most = batcher.mostFor(operations)
      tierBatch = new TierBatch(runner, most, nowMs, (alone) => decideAlone(alone, nowMs, timeoutMs))
      tierBatch.add(located, reply)
      batcher.open(tierBatch)
    } else tierBatch.add(located, reply)
    batcher.joined(tierBatch)
  }
  return {
    name: 'redis',
    isLocal: false,
    layers: remoteLayers,
    realTime: true,
    register: (limit) =>
      void keyspaces.set(limit, new RedisKeyspace({ runner, batcher, layout, prefix, joining }, limit)),
    decide(call, reply) {
      const { operations, nowMs, idempotency, timeoutMs } = call
      const first = operations[0] as Operation
      const isSingle = operations.length === 1
      if (timeoutMs > 0) runner.waitAtMost(timeoutMs)
      if (isSingle && idempotency === undefined && !first.limit.rulesVary) {
        keyspaceOf(first.limit).add(first, call, reply)
        return undefined
      }
      const located = operations.map((operation) => ({ operation, keyspace: keyspaceOf(operation.limit) }))
      const places = located.map(({ operation: { key }, keyspace }) => ({ keyspace, key }))
      for (const { keyspace } of located) keyspace.isInTime(nowMs)
      sendInOrder(places, () => {
        if (isSingle || idempotency !== undefined || hasSlots || layout.isCluster) {
          batcher.flush()
          decideAlone(located, nowMs, timeoutMs, idempotency).then(
            (results) => reply.done(results),
            (error: unknown) => reply.failed(error),
          )
        } else addToTiers(located, call, reply)
      })
      return undefined
    },
    clear(limit) {
      batcher.flush()
      return runner.sweep(keyspaceOf(limit).start)
    },
    trouble: () => runner.trouble(),
    async warmUp() {
      const newest = new Set(listScripts().map(({ name }) => getScript(name)))
      await Promise.all(Array.from(newest, (script) => runner.load(script)))
    },
  }
}

/** How a decision is asked for that begins now: until its timeout, and by the name of its rule where there is only one. */
function howOf([first, ...others]: readonly Located[], timeoutMs: number): How {
  const { rule } = (first as Located).operation
  const untilMs = timeoutMs === 0 ? undefined : timerNowMs(undefined) + timeoutMs
  return { untilMs, by: others.length === 0 ? rule.kind : 'tiers' }
}
