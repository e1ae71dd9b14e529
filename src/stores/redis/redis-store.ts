import { knownOptions, show, wholeNumber } from '../../core/check.ts'
import { timerNowMs } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Memo, Store } from '../../core/store.ts'
import { Batcher } from './batcher.ts'
import { connectionOf, type RedisClient } from './clients/connect.ts'
import { isCrossSlot } from './clients/server-words.ts'
import { decideAcrossSlots } from './decide-across-slots.ts'
import { decideInOneSlot, type RedisOrder } from './decide-in-one-slot.ts'
import { RedisShelf } from './redis-shelf.ts'
import { getScript, listScripts } from './script-catalog.ts'
import { type How, ScriptRunner } from './script-runner.ts'
import { SlotLayout } from './slot-layout.ts'
import { type Orders, TierBatch } from './tier-batch.ts'

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
  knownOptions('redisStore()', options, ['prefix', 'maxBatch', 'garnetLuaTransactions'])
  const { prefix = 'sluice:', maxBatch = 64, garnetLuaTransactions = false } = options
  if (typeof prefix !== 'string' || prefix.length > 100) {
    throw new LimiterError('INVALID_OPTION', `prefix must be a string of at most 100 characters, got ${show(prefix)}`)
  }
  if (typeof garnetLuaTransactions !== 'boolean') {
    const got = show(garnetLuaTransactions)
    throw new LimiterError('INVALID_OPTION', `garnetLuaTransactions must be true or false, got ${got}`)
  }
  const connection = connectionOf(client)
  const runner = new ScriptRunner(connection, garnetLuaTransactions)
  const batcher = new Batcher(wholeNumber('maxBatch', maxBatch, 1, 1_000))
  const layout = new SlotLayout(connection.isCluster === true, connection.keepsKeysApart !== true)
  let hasSlots = false
  const shelves = {
    runner,
    batcher,
    layout,
    prefix,
    decideAlone: async (order: RedisOrder, nowMs: number): Promise<Verdict> => {
      batcher.flush()
      return (await decideInOneSlot(runner.asking(howOf([order])), [order], nowMs)).verdicts[0] as Verdict
    },
  }
  const decideAlone = async (orders: Orders, nowMs: number, memo?: Memo): Promise<readonly Verdict[]> => {
    const timely = runner.asking(howOf(orders))
    if (!hasSlots) {
      try {
        return (await decideInOneSlot(timely, orders, nowMs, memo)).verdicts
      } catch (error) {
        // A Cluster says so, and has decided nothing.
        if (!isCrossSlot(error)) throw error
        hasSlots = true
      }
    }
    return decideAcrossSlots(timely, orders, nowMs, memo)
  }
  let tierBatch: TierBatch | undefined
  return {
    kind: 'redis',
    realTime: true,
    open(place) {
      if (place.deadlineMs !== undefined) runner.waitAtMost(place.deadlineMs)
      return new RedisShelf(shelves, place)
    },
    decideTogether(given, nowMs, memo) {
      const orders = given as Orders
      if (memo !== undefined || hasSlots || layout.isCluster) {
        batcher.flush()
        return decideAlone(orders, nowMs, memo)
      }
      if (tierBatch === undefined || !tierBatch.takes(orders, nowMs)) {
        tierBatch = new TierBatch(runner, batcher.mostFor(orders), nowMs, (alone) => decideAlone(alone, nowMs))
        batcher.open(tierBatch)
      }
      const verdicts = tierBatch.add(orders)
      batcher.joined(tierBatch)
      return verdicts
    },
    trouble: () => runner.trouble(),
    async warmUp() {
      const newest = new Set(listScripts().map(({ name }) => getScript(name)))
      await Promise.all(Array.from(newest, (script) => runner.load(script)))
    },
  }
}

/** How a decision is asked for that begins now: until its deadline, and by the name of its rule where there is only one. */
function howOf([first, ...others]: Orders): How {
  const { shelf, rule } = first as RedisOrder
  const untilMs = shelf.deadlineMs === undefined ? undefined : timerNowMs(undefined) + shelf.deadlineMs
  return { untilMs, by: others.length === 0 ? rule.kind : 'tiers' }
}
