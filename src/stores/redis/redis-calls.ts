import { timerNowMs } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { type Limit, refuseUnregistered } from '../../core/limit.ts'
import type { Operation } from '../../core/operation.ts'
import type { Idempotency, Reply, StoreCall } from '../../core/store.ts'
import { Batch, type BatchHost } from './batch.ts'
import { BatchScheduler } from './batch-scheduler.ts'
import type { RedisConnection } from './clients/redis-connection.ts'
import { isCrossSlot } from './clients/server-words.ts'
import { decideAcrossSlots } from './decide-across-slots.ts'
import { decideInOneSlot, describeRules, type Located } from './decide-in-one-slot.ts'
import { sendInOrder } from './key-order.ts'
import { Cancellation } from './pending-command.ts'
import { RedisKeyspace } from './redis-keyspace.ts'
import { FULL_SCRIPT, type Script, TIERS_SCRIPT } from './script-catalog.ts'
import { ScriptRunner } from './script-runner.ts'
import { SlotLayout } from './slot-layout.ts'

/** The calls of a store to its server: those that can go together do, and on each key they are decided in the order in which they came. */
export class RedisCalls implements BatchHost {
  readonly runner: ScriptRunner
  readonly layout: SlotLayout
  readonly #prefix: string
  readonly #scheduler: BatchScheduler
  readonly #keyspaces = new WeakMap<Limit, RedisKeyspace>()
  /** Whether the keys of one decision lie in several slots. */
  #hasSlots = false

  constructor(connection: RedisConnection, prefix: string, maxBatch: number, isEngineSafe: boolean) {
    this.runner = new ScriptRunner(connection, isEngineSafe)
    this.layout = new SlotLayout(connection.isCluster === true, connection.keepsKeysApart !== true)
    this.#scheduler = new BatchScheduler(maxBatch)
    this.#prefix = prefix
  }

  /** Announces a limit. */
  register(limit: Limit): void {
    this.#keyspaces.set(limit, new RedisKeyspace(this.#prefix, limit))
  }

  /** Decides a call: by a hot script where that can, with other calls where it may go with them. */
  readonly decide = (call: StoreCall, reply: Reply): undefined => {
    const { operations, nowMs, idempotency, timeoutMs } = call
    const first = operations[0] as Operation
    const isJoint = operations.length > 1
    const keyspaces = isJoint ? operations.map(({ limit }) => this.#find(limit)) : this.#find(first.limit).only
    const isApart = isJoint ? this.#hasSlots || this.layout.isCluster : first.limit.rulesVary
    const isAlone = isApart || idempotency !== undefined
    let isHot = !isAlone
    for (let index = 0; index < operations.length; index++) {
      const startsHot = (keyspaces[index] as RedisKeyspace).startsHot(operations[index] as Operation, nowMs, isJoint)
      isHot &&= startsHot
    }
    if (isHot) {
      const script = isJoint ? TIERS_SCRIPT : (keyspaces[0] as RedisKeyspace).script
      this.join(script, keyspaces, call, reply)
      return
    }
    const untilMs = timeoutMs === 0 ? undefined : timerNowMs(undefined) + timeoutMs
    const located = operations.map((operation, index) => ({ operation, keyspace: keyspaces[index] as RedisKeyspace }))
    const places = located.map(({ operation: { key }, keyspace }) => ({ keyspace, key }))
    sendInOrder(places, () => {
      if (!isAlone) {
        // It may have waited. At least 1: 0 would be without a limit.
        const leftMs = untilMs === undefined ? 0 : Math.max(1, untilMs - timerNowMs(undefined))
        this.join(FULL_SCRIPT, keyspaces, { ...call, timeoutMs: leftMs }, reply)
        return
      }
      this.flush()
      this.decideAlone(located, nowMs, untilMs, reply, idempotency).then(
        (results) => reply.done(results),
        (error: unknown) => reply.failed(error),
      )
    })
  }

  join(script: Script, keyspaces: readonly RedisKeyspace[], call: StoreCall, reply: Reply): void {
    let batch = (keyspaces[0] as RedisKeyspace).batch
    if (batch === undefined || !batch.takes(script, call)) {
      const isHot = script !== FULL_SCRIPT
      batch = new Batch(this, script, keyspaces, call.nowMs, this.#scheduler.mostFor(call.operations, isHot))
      for (const keyspace of keyspaces) keyspace.begin(batch, isHot)
    }
    batch.add(call, reply)
    this.#scheduler.joined(batch)
  }

  async decideAlone(
    located: readonly Located[],
    nowMs: number,
    untilMs: number | undefined,
    reply: Reply,
    idempotency?: Idempotency,
  ): Promise<readonly LimitResult[]> {
    const cancellation = new Cancellation()
    cancellation.join(reply)
    const by = describeRules(located.map(({ operation }) => operation))
    const runner = this.runner.asking({ untilMs, by, cancellation })
    if (!this.#hasSlots) {
      try {
        return (await decideInOneSlot(runner, located, nowMs, idempotency)).results
      } catch (error) {
        // A Cluster says so, and has decided nothing.
        if (!isCrossSlot(error)) throw error
        this.#hasSlots = true
      }
    }
    return decideAcrossSlots(runner, located, nowMs, idempotency)
  }

  flush(): void {
    this.#scheduler.flush()
  }

  /** Forgets all keys of a limit. */
  clear(limit: Limit): Promise<void> {
    this.flush()
    return this.runner.sweep(this.#find(limit).start)
  }

  #find(limit: Limit): RedisKeyspace {
    return this.#keyspaces.get(limit) ?? refuseUnregistered(limit)
  }
}
