import { show } from '../../core/check.ts'
import { STORE_TIME, timerNowMs } from '../../core/clock.ts'
import { encodeScope } from '../../core/key.ts'
import type { Limit } from '../../core/limit.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Reply, StoreCall } from '../../core/store.ts'
import type { BatchScheduler } from './batch-scheduler.ts'
import { FullBatch, type FullBatchOptions } from './full-batch.ts'
import { type OrderedKeys, type Pending, sendInOrder, type Waiting } from './key-order.ts'
import { RuleBatch, type RuleBatchOptions } from './rule-batch.ts'
import { type RuleTexts, ruleTexts } from './rule-texts.ts'
import { getScript, listScripts, type Script } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'
import type { SlotLayout } from './slot-layout.ts'
import { isHot } from './wire.ts'

/** What the keyspaces of a store share. */
export interface KeyspaceOptions {
  readonly runner: ScriptRunner
  readonly batcher: BatchScheduler
  readonly layout: SlotLayout
  readonly prefix: string
  /** To be called when a decision on a keyspace joins a batch: what is decided over several limits later must not go before it. */
  readonly joining: (keyspace: RedisKeyspace) => void
}

/** What keys start with, unless the store is told otherwise. */
export const DEFAULT_PREFIX = 'sluice:'

/** What a key of a limit is called on the server. With a tag, the keys of one subject lie in one slot of a Cluster. */
export function redisKey(prefix: string, limit: Limit, key: string): string {
  return nameKey(`${prefix}${encodeScope(limit)}:`, limit, key)
}

function nameKey(start: string, { hashTag }: Limit, key: string): string {
  return hashTag ? `${start}{${key}}` : start + key
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
  readonly #joining: KeyspaceOptions['joining']
  readonly #batches: RuleBatchOptions
  readonly #fullBatches: FullBatchOptions
  readonly #texts = new WeakMap<Rule, RuleTexts>()
  readonly #ownTexts: RuleTexts
  #batch: RuleBatch | undefined
  /** The hot batches that are not answered, in their order. */
  #unanswered: RuleBatch[] = []
  /** Whether what comes later on some key has to wait for one of them. */
  #hasBarriers = false
  #fullBatch: FullBatch | undefined
  #handedOver = 0
  #decided = 0
  /** How many decisions still start at the full script. */
  #fullLeft = 0
  /** The latest time of a caller's clock. */
  #latestMs = 0

  constructor({ runner, layout, batcher, prefix, joining }: KeyspaceOptions, limit: Limit) {
    const { rule } = limit
    const script = findScript(rule.kind)
    const hot = getScript(`${rule.kind}-hot`)
    const most = batcher.mostFor([limit])
    this.by = rule.kind
    this.lastRemaining = rule.limit
    this.start = `${prefix}${encodeScope(limit)}:`
    this.#limit = limit
    this.#batcher = batcher
    this.#joining = joining
    this.#batches = { runner, layout, script: hot, keyspace: this, most }
    this.#fullBatches = { runner, layout, script, keyspace: this, most }
    this.#ownTexts = ruleTexts(rule, script, hot)
  }

  /** Lets a call of one operation go to the server with others of its limit: to the hot script where that can decide it. */
  add(operation: Operation, { nowMs, timeoutMs }: StoreCall, reply: Reply): void {
    if (this.isInTime(nowMs) && this.#startsHot(operation)) {
      this.#addHot(operation, nowMs, timeoutMs, reply)
      return
    }
    const untilMs = timeoutMs === 0 ? undefined : timerNowMs(undefined) + timeoutMs
    sendInOrder([{ keyspace: this, key: operation.key }], () => this.addFull(operation, nowMs, untilMs, reply))
  }

  /** Lets an operation go to the full script. Nothing that came before it on its key is still to come there. */
  addFull(operation: Operation, nowMs: number, untilMs: number | undefined, reply: Reply): void {
    const texts = this.textsOf(operation.rule)
    let batch = this.#fullBatch
    if (batch === undefined || !batch.takes(texts, nowMs)) {
      batch = new FullBatch(this.#fullBatches, texts, nowMs, untilMs)
      this.#fullBatch = batch
      this.#batcher.open(batch)
    }
    // What is hot and comes later must not go with what waits already.
    this.#batch = undefined
    this.#joining(this)
    batch.add(operation, reply)
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
    return this.#unanswered.map((batch) => batch.find(key)).filter((run) => run !== undefined)
  }

  /** A decision on a key was handed over: later ones that are under way will be too, and what comes then has to wait for them. */
  holdBack(key: string): void {
    const batch = this.#unanswered.findLast((other) => other.find(key) !== undefined)
    if (batch === undefined) return
    batch.holdBack(key)
    this.#hasBarriers = true
  }

  /** A batch is answered: nothing of it is handed over later. */
  answered(batch: RuleBatch): void {
    this.#unanswered = this.#unanswered.filter((other) => other !== batch)
    this.#hasBarriers &&= this.#unanswered.some((other) => other.hasBarriers)
  }

  #isHeldBack(key: string): boolean {
    if (this.waiting.size > 0 && this.waiting.has(key)) return true
    return this.#hasBarriers && this.listPending(key).some(({ followers }) => followers !== undefined)
  }

  #startsHot(operation: Operation): boolean {
    if (!isHot(operation) || this.#isHeldBack(operation.key)) return false
    if (this.#fullLeft === 0) return true
    this.#fullLeft--
    return false
  }

  #addHot(operation: Operation, nowMs: number, timeoutMs: number, reply: Reply): void {
    const parameters = this.textsOf(operation.rule).hot
    let batch = this.#batch
    if (batch === undefined || !batch.takes(parameters, nowMs, operation.blockMs)) {
      const terms = { parameters, nowMs, blockMs: operation.blockMs, timeoutMs }
      batch = new RuleBatch(this.#batches, terms)
      this.#batch = batch
      this.#unanswered.push(batch)
      this.#batcher.open(batch)
    }
    // What the full script decides and comes later must not go with what waits already.
    this.#fullBatch = undefined
    this.#joining(this)
    batch.add(operation, reply)
    this.#batcher.joined(batch)
  }

  /** What a key is called on the server. */
  nameOf(key: string): string {
    return nameKey(this.start, this.#limit, key)
  }

  /** A rule's parameters as its script takes them. */
  textsOf(rule: Rule): RuleTexts {
    if (rule === this.#limit.rule) return this.#ownTexts
    const known = this.#texts.get(rule) ?? ruleTexts(rule, this.#fullBatches.script, this.#batches.script)
    this.#texts.set(rule, known)
    return known
  }
}

function findScript(kind: string): Script {
  const hasHot = ({ name }: Script): boolean => listScripts().some((script) => script.name === `${name}-hot`)
  const script = listScripts().findLast((candidate) => candidate.name === kind && hasHot(candidate))
  if (script !== undefined) return script
  const known = [
    ...new Set(
      listScripts()
        .filter(hasHot)
        .map(({ name }) => name),
    ),
  ].join(', ')
  throw new LimiterError('INVALID_OPTION', `redisStore has no script for the rule ${show(kind)}; rules are ${known}`)
}

// A limit of whose last decisions so many were handed over starts at the full script for its next ones.
const OFTEN = 16
const OF = 64
const FULL_FOR = 1_000
/** How far a key's own time may be ahead of the clock before the clock counts as set back for good. */
const MOST_LAG_MS = 60_000
