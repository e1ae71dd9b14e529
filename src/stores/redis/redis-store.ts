import { knownOptions, show, wholeNumber } from '../../core/check.ts'
import { timerNowMs } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { type Limit, refuseUnregistered } from '../../core/limit.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Operation } from '../../core/operation.ts'
import { isRequestBound } from '../../core/request-bound.ts'
import type { Idempotency, Reply, Store } from '../../core/store.ts'
import { remoteLayers } from '../remote-layers.ts'
import { BatchScheduler } from './batch-scheduler.ts'
import { openConnection, type RedisClient } from './clients/connect.ts'
import { isCrossSlot } from './clients/server-words.ts'
import { decideAcrossSlots } from './decide-across-slots.ts'
import { decideInOneSlot, type Located } from './decide-in-one-slot.ts'
import { FullBatch, howUntil } from './full-batch.ts'
import { sendInOrder } from './key-order.ts'
import { DEFAULT_PREFIX, RedisKeyspace } from './redis-keyspace.ts'
import { getScript, listScripts } from './script-catalog.ts'
import { ScriptRunner } from './script-runner.ts'
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
  const connection = openConnection(client)
  const runner = new ScriptRunner(connection, garnetLuaTransactions)
  const most = wholeNumber('maxBatch', maxBatch, 1, 1_000)
  // A call that decisions of several requests share would end with one of them.
  const batcher = new BatchScheduler(isRequestBound() ? 1 : most)
  const layout = new SlotLayout(connection.isCluster === true, connection.keepsKeysApart !== true)
  const keyspaces = new WeakMap<Limit, RedisKeyspace>()
  const findKeyspace = (limit: Limit): RedisKeyspace => keyspaces.get(limit) ?? refuseUnregistered(limit)
  let hasSlots = false
  const decideOnce = async (
    located: readonly Located[],
    nowMs: number,
    untilMs: number | undefined,
    reply: Reply,
    idempotency?: Idempotency,
  ): Promise<readonly LimitResult[]> => {
    const timely = runner.asking(howUntil(located, untilMs, reply))
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
  const joint: { hot: TierBatch | undefined; full: FullBatch | undefined } = { hot: undefined, full: undefined }
  const addFull = (located: readonly Located[], nowMs: number, untilMs: number | undefined, reply: Reply): void => {
    for (const { keyspace } of located) keyspace.closeBatch()
    joint.hot = undefined
    if (joint.full === undefined || !joint.full.takes(located, nowMs)) {
      const most = batcher.mostFull(located.map(({ operation }) => operation))
      joint.full = new FullBatch({ runner, layout, most, decideAlone: decideOnce }, nowMs)
    }
    joint.full.add(located, untilMs, reply)
    batcher.joined(joint.full)
  }
  const flush = (): void => batcher.flush()
  const addHot = (located: readonly Placed[], nowMs: number, untilMs: number | undefined, reply: Reply): void => {
    for (const { keyspace } of located) keyspace.closeBatch()
    joint.full = undefined
    if (joint.hot === undefined || !joint.hot.takes(located, nowMs)) {
      const most = batcher.mostFor(located.map(({ operation }) => operation))
      joint.hot = new TierBatch({ runner, most, decideAlone: decideOnce, handOver: addFull, flush }, nowMs)
      // Two keys of one limit are of one keyspace, which hears of the answer once.
      for (const keyspace of new Set(located.map((one) => one.keyspace))) keyspace.noteUnanswered(joint.hot)
    }
    joint.hot.add(located, untilMs, reply)
    batcher.joined(joint.hot)
  }
  return {
    name: 'redis',
    isLocal: false,
    layers: remoteLayers,
    realTime: true,
    register(limit) {
      const options = { runner, batcher, layout, prefix, joint, decideAlone: decideOnce }
      keyspaces.set(limit, new RedisKeyspace(options, limit))
    },
    decide(call, reply) {
      const { operations, nowMs, idempotency, timeoutMs } = call
      const first = operations[0] as Operation
      const isSingle = operations.length === 1
      if (isSingle && idempotency === undefined && !first.limit.rulesVary) {
        findKeyspace(first.limit).add(first, call, reply)
        return undefined
      }
      const located = operations.map((operation) => ({ operation, keyspace: findKeyspace(operation.limit) }))
      const untilMs = timeoutMs === 0 ? undefined : timerNowMs(undefined) + timeoutMs
      const isAlone = isSingle || idempotency !== undefined || hasSlots || layout.isCluster
      const isInTime = located.map(({ keyspace }) => keyspace.isInTime(nowMs)).every(Boolean)
      const areHot = located.map(startsHot).every(Boolean)
      if (!isAlone && isInTime && areHot) {
        addHot(located, nowMs, untilMs, reply)
        return undefined
      }
      const places = located.map(({ operation: { key }, keyspace }) => ({ keyspace, key }))
      sendInOrder(places, () => {
        if (!isAlone) {
          addFull(located, nowMs, untilMs, reply)
          return
        }
        batcher.flush()
        decideOnce(located, nowMs, untilMs, reply, idempotency).then(
          (results) => reply.done(results),
          (error: unknown) => reply.failed(error),
        )
      })
      return undefined
    },
    clear(limit) {
      batcher.flush()
      return runner.sweep(findKeyspace(limit).start)
    },
    trouble: () => runner.trouble(),
    async warmUp() {
      const newest = new Set(listScripts().map(({ name }) => getScript(name)))
      await Promise.all(Array.from(newest, (script) => runner.load(script)))
    },
  }
}

/** An operation, and the keyspace of its key. */
interface Placed {
  readonly operation: Operation
  readonly keyspace: RedisKeyspace
}

function startsHot({ operation, keyspace }: Placed): boolean {
  const startsHot = keyspace.startsHotWithOthers(operation)
  return startsHot && !operation.limit.shadow && !operation.limit.rulesVary
}
