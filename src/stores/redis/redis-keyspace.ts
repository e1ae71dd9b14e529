import { show } from '../../core/check.ts'
import { STORE_TIME, timerNowMs } from '../../core/clock.ts'
import { encodeScope } from '../../core/key.ts'
import type { Limit } from '../../core/limit.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Operation } from '../../core/operation.ts'
import { isRequestBound } from '../../core/request-bound.ts'
import type { Rule } from '../../core/rule.ts'
import type { Reply, StoreCall } from '../../core/store.ts'
import type { BatchScheduler } from './batch-scheduler.ts'
import type { Located } from './decide-in-one-slot.ts'
import { type DecideAlone, FullBatch, type FullBatchOptions } from './full-batch.ts'
import { type HotBatch, type OrderedKeys, type Pending, sendInOrder, type Waiting } from './key-order.ts'
import { RuleBatch, type RuleBatchOptions } from './rule-batch.ts'
import { encodeRule, type RuleTexts } from './rule-texts.ts'
import { listScripts, type Script } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'
import type { SlotLayout } from './slot-layout.ts'
import { isHot } from './wire.ts'

/** What the keyspaces of a store share. */
export interface KeyspaceOptions {
  readonly runner: ScriptRunner
  readonly batcher: BatchScheduler
  readonly layout: SlotLayout
  readonly prefix: string
  readonly joint: JointBatches
  readonly decideAlone: DecideAlone
}

/** A batch of decisions over several limits that others may still join. */
interface JointBatch {
  /** Whether a key of this keyspace waits there. */
  concerns(keyspace: RedisKeyspace): boolean
}

/** When a decision on one of their keyspaces joins another batch, nothing joins these any more: that must not go before it. */
export interface JointBatches {
  hot: JointBatch | undefined
  full: JointBatch | undefined
}

/** What keys start with, unless the store is told otherwise. */
export const DEFAULT_PREFIX = 'sluice:'

/** What a key of a limit is called on the server. With a tag, the keys of one subject lie in one slot of a Cluster. */
export function redisKey(prefix: string, limit: Limit, key: string): string {
  const start = `${prefix}${encodeScope(limit)}:`
  return limit.hashTag ? `${start}{${key}}` : start + key
}

/** The keys of one limit on Redis. */
export class RedisKeyspace implements OrderedKeys {
  /** What was last seen to be left of this limit, by any key: how scarce it is. */
  lastRemaining: number
  /** What all its keys start with. */
  readonly start: string
  /** What it decides by, as failures say it. */
  readonly by: string
  readonly waiting: Map<string, Waiting> = new Map()
  readonly #limit: Limit
  readonly #batcher: BatchScheduler
  readonly #joint: JointBatches
  readonly #batches: RuleBatchOptions
  readonly #fullBatches: FullBatchOptions
  readonly #texts = new WeakMap<Rule, RuleTexts>()
  readonly #ownTexts: RuleTexts
  #batch: RuleBatch | undefined
  /** The hot batches that are not answered, in their order. */
  readonly #unanswered: HotBatch[] = []
  readonly #isRequestBound = isRequestBound()
  /** Whether what comes later on some key has to wait for one of them. */
  #hasBarriers = false
  #fullBatch: FullBatch | undefined
  #handedOver = 0
  #decided = 0
  /** How many decisions still start at the full script. */
  #fullLeft = 0
  /** How many over several limits do. */
  #jointFullLeft = 0
  /** The latest time of a caller's clock. */
  #latestMs = 0

  constructor({ runner, layout, batcher, prefix, joint, decideAlone }: KeyspaceOptions, limit: Limit) {
    const { rule } = limit
    const script = findScript(rule.kind)
    const most = batcher.mostFor([limit])
    this.by = rule.kind
    this.lastRemaining = rule.limit
    this.start = `${prefix}${encodeScope(limit)}:`
    this.#limit = limit
    this.#batcher = batcher
    this.#joint = joint
    this.#batches = { runner, layout, script, keyspace: this, most }
    this.#fullBatches = { runner, layout, most: batcher.mostFull([limit]), decideAlone }
    this.#ownTexts = encodeRule(rule, script)
  }

  /** Lets a call of one operation go to the server with others of its limit: to the hot script where that can decide it. */
  add(operation: Operation, { nowMs, timeoutMs }: StoreCall, reply: Reply): void {
    if (operation.type === 'reserve') this.#jointFullLeft = FULL_FOR
    if ((nowMs === STORE_TIME || this.isInTime(nowMs)) && this.#startsHot(operation)) {
      this.#addHot(operation, nowMs, timeoutMs, reply)
      return
    }
    const untilMs = timeoutMs === 0 ? undefined : timerNowMs(undefined) + timeoutMs
    sendInOrder([{ keyspace: this, key: operation.key }], () => this.addFull(operation, nowMs, untilMs, reply))
  }

  /** Lets an operation go to the full script. Nothing that came before it on its key is still to come there. */
  addFull(operation: Operation, nowMs: number, untilMs: number | undefined, reply: Reply): void {
    const located: readonly Located[] = [{ operation, keyspace: this }]
    let batch = this.#fullBatch
    if (batch === undefined || !batch.takes(located, nowMs)) {
      batch = new FullBatch(this.#fullBatches, nowMs)
      this.#fullBatch = batch
    }
    // What is hot and comes later must not go with what waits already.
    this.#batch = undefined
    this.#closeJoint()
    batch.add(located, untilMs, reply)
    this.#batcher.joined(batch)
  }

  /** Something comes that has to be decided after what waits here: what comes later has to go later still. */
  closeBatch(): void {
    this.#batch = undefined
    this.#fullBatch = undefined
  }

  /** Sends what waits. */
  flush(): void {
    this.#batcher.flush()
  }

  /** Notes that of so many decisions some were handed over. Where that is often so, the next ones start at the full script. */
  noteHandedOver(handedOver: number, decided: number): void {
    if (handedOver > 0) this.#jointFullLeft = FULL_FOR
    this.#handedOver += handedOver
    this.#decided += decided
    if (this.#handedOver >= OFTEN) this.#fullLeft = FULL_FOR
    if (this.#handedOver < OFTEN && this.#decided < OF) return
    this.#handedOver = 0
    this.#decided = 0
  }

  /** Notes the time of a decision. Answers false when the clock has stepped back: then the states of keys may be ahead of it. */
  isInTime(nowMs: number): boolean {
    if (nowMs === STORE_TIME) return true
    const isInTime = nowMs >= this.#latestMs
    const isSetBack = this.#latestMs - nowMs > MOST_LAG_MS
    if (isSetBack) this.#fullLeft = FULL_FOR
    if (isInTime || isSetBack) this.#latestMs = nowMs
    return isInTime
  }

  /** The decisions on a key that a hot script may still hand over, or the last one that waits for such. */
  listPending(key: string): readonly Pending[] {
    const waiting = this.waiting.get(key)
    if (waiting !== undefined) return [waiting]
    return this.#unanswered.map((batch) => batch.find(key, this)).filter((run) => run !== undefined)
  }

  /** A decision on a key was handed over: later ones that are under way will be too, and what comes then has to wait for them. */
  holdBack(key: string): void {
    const batch = this.#unanswered.findLast((other) => other.find(key, this) !== undefined)
    if (batch === undefined) return
    batch.holdBack(key)
    this.#hasBarriers = true
  }

  /** A batch over several limits has a decision on a key of this one. */
  noteUnanswered(batch: HotBatch): void {
    // In a Worker a request may end before its answer comes, and no other must wait for that.
    if (!this.#isRequestBound) this.#unanswered.push(batch)
  }

  /** A batch is answered: nothing of it is handed over later. */
  answered(batch: HotBatch): void {
    this.#unanswered.splice(this.#unanswered.indexOf(batch), 1)
    this.#hasBarriers &&= this.#unanswered.some((other) => other.hasBarriers)
  }

  #isHeldBack(key: string): boolean {
    return this.listPending(key).some(({ followers }) => followers !== undefined)
  }

  #closeJoint(): void {
    const joint = this.#joint
    if (joint.hot?.concerns(this) === true) joint.hot = undefined
    if (joint.full?.concerns(this) === true) joint.full = undefined
  }

  /**
   * Whether an operation of several starts at a hot script. Not where a key may have reservations: a decision that is handed over because of
   * one key would be overtaken on its other keys by those that are under way.
   */
  startsHotWithOthers(operation: Operation): boolean {
    if (operation.type === 'reserve') this.#jointFullLeft = FULL_FOR
    if (this.#jointFullLeft === 0) return this.#startsHot(operation)
    this.#jointFullLeft--
    return false
  }

  #startsHot(operation: Operation): boolean {
    if (!isHot(operation)) return false
    if ((this.waiting.size > 0 || this.#hasBarriers) && this.#isHeldBack(operation.key)) return false
    if (this.#fullLeft === 0) return true
    this.#fullLeft--
    return false
  }

  #addHot(operation: Operation, nowMs: number, timeoutMs: number, reply: Reply): void {
    const { rule, blockMs } = operation
    const parameters = rule === this.#limit.rule ? this.#ownTexts.hot : this.textsOf(rule).hot
    let batch = this.#batch
    if (batch === undefined || !batch.takes(parameters, nowMs, blockMs)) {
      batch = new RuleBatch(this.#batches, { parameters, nowMs, blockMs, timeoutMs })
      this.#batch = batch
      this.noteUnanswered(batch)
    }
    // What the full script decides and comes later must not go with what waits already.
    this.#fullBatch = undefined
    this.#closeJoint()
    batch.add(operation, reply)
    this.#batcher.joined(batch)
  }

  /** What a key is called on the server. */
  nameOf(key: string): string {
    return this.#limit.hashTag ? `${this.start}{${key}}` : this.start + key
  }

  /** A rule as the scripts take it. */
  textsOf(rule: Rule): RuleTexts {
    if (rule === this.#limit.rule) return this.#ownTexts
    const known = this.#texts.get(rule) ?? encodeRule(rule, this.#batches.script)
    this.#texts.set(rule, known)
    return known
  }
}

function findScript(kind: string): Script {
  const ofRules = listScripts().filter(({ parameters }) => parameters.length > 0)
  const script = ofRules.findLast(({ name }) => name === kind)
  if (script !== undefined) return script
  const known = [...new Set(ofRules.map(({ name }) => name))].join(', ')
  throw new LimiterError('INVALID_OPTION', `redisStore has no script for the rule ${show(kind)}; rules are ${known}`)
}

// A limit of whose last decisions so many were handed over starts at the full script for its next ones.
const OFTEN = 16
const OF = 64
const FULL_FOR = 1_000
/** How far a key's own time may be ahead of the clock before the clock counts as set back for good. */
const MOST_LAG_MS = 60_000
