import { show } from '../../core/check.ts'
import { STORE_TIME } from '../../core/clock.ts'
import { encodeScope } from '../../core/key.ts'
import type { Limit } from '../../core/limit.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Operation } from '../../core/operation.ts'
import { isRequestBound } from '../../core/request-bound.ts'
import type { Rule } from '../../core/rule.ts'
import type { Batch, BatchKeyspace } from './batch.ts'
import type { OrderedKeys, Pending, Waiting } from './key-order.ts'
import { encodeRule, type RuleTexts } from './rule-texts.ts'
import { listScripts, type Script } from './script-catalog.ts'
import { isHot } from './wire.ts'

/** What keys start with, unless the store has another prefix. */
export const DEFAULT_PREFIX = 'sluice:'

/** What a key of a limit is called on the server. With a tag, the keys of one subject lie in one slot of a Cluster. */
export function redisKey(prefix: string, limit: Limit, key: string): string {
  const start = `${prefix}${encodeScope(limit)}:`
  return limit.hashTag ? `${start}{${key}}` : start + key
}

/** The keys of one limit on Redis. */
export class RedisKeyspace implements OrderedKeys, BatchKeyspace {
  /** What was last seen to be left of this limit, by any key: how scarce it is. */
  lastRemaining: number
  /** The latest batch with a key of this limit. Nothing joins an earlier one: that must not go before this. */
  batch: Batch | undefined = undefined
  /** What all its keys start with. */
  readonly start: string
  /** The hot script of its rule. */
  readonly script: Script
  /** Only this keyspace: those of a call about one key. */
  readonly only: readonly RedisKeyspace[] = [this]
  readonly waiting: Map<string, Waiting> = new Map()
  readonly #limit: Limit
  readonly #texts = new WeakMap<Rule, RuleTexts>()
  readonly #ownTexts: RuleTexts
  /** The hot batches that are not answered, in their order. */
  readonly #unanswered: Batch[] = []
  readonly #isRequestBound = isRequestBound()
  /** Whether what comes later on some key has to wait for one of them. */
  #hasBarriers = false
  #handedOver = 0
  #decided = 0
  /** How many decisions still start at the full script. */
  #fullLeft = 0
  /** How many over several limits do. */
  #jointFullLeft = 0
  /** The latest time of a caller's clock. */
  #latestMs = 0

  constructor(prefix: string, limit: Limit) {
    const { rule } = limit
    this.lastRemaining = rule.limit
    this.start = `${prefix}${encodeScope(limit)}:`
    this.script = findScript(rule.kind)
    this.#limit = limit
    this.#ownTexts = encodeRule(rule, this.script)
  }

  /**
   * Whether an operation starts at a hot script. With others not where a key may have reservations: a decision that is handed over because
   * of one key would be overtaken on its other keys by those that are under way.
   */
  startsHot(operation: Operation, nowMs: number, isJoint: boolean): boolean {
    const { shadow, rulesVary } = this.#limit
    if (operation.type === 'reserve') this.#jointFullLeft = FULL_FOR
    if (nowMs !== STORE_TIME && !this.#isInTime(nowMs)) return false
    if (isJoint && this.#jointFullLeft > 0) {
      this.#jointFullLeft--
      return false
    }
    if (!isHot(operation) || rulesVary || (isJoint && shadow)) return false
    if ((this.waiting.size > 0 || this.#hasBarriers) && this.#isHeldBack(operation.key)) return false
    if (this.#fullLeft === 0) return true
    this.#fullLeft--
    return false
  }

  /** A batch begins with a call on a key of this limit. */
  begin(batch: Batch, isHot: boolean): void {
    // Two keys of one limit are of one keyspace, which hears of the answer once. In a Worker a request may end before its answer comes,
    // and no other must wait for that.
    if (isHot && this.batch !== batch && !this.#isRequestBound) this.#unanswered.push(batch)
    this.batch = batch
  }

  /** A hot batch is answered: nothing of it is handed over later. Where that was often so, the next decisions start at the full script. */
  answered(batch: Batch, handedOver: number): void {
    const at = this.#unanswered.indexOf(batch)
    if (at >= 0) this.#unanswered.splice(at, 1)
    else if (!this.#isRequestBound) return
    this.#hasBarriers &&= this.#unanswered.some((other) => other.hasBarriers)
    if (handedOver > 0) this.#jointFullLeft = FULL_FOR
    this.#handedOver += handedOver
    this.#decided += batch.size
    if (this.#handedOver >= OFTEN) this.#fullLeft = FULL_FOR
    if (this.#handedOver < OFTEN && this.#decided < OF) return
    this.#handedOver = 0
    this.#decided = 0
  }

  /** The decisions on a key that a hot script may still hand over, or the last one that waits for such. */
  listPending(key: string): readonly Pending[] {
    const waiting = this.waiting.get(key)
    if (waiting !== undefined) return [waiting]
    return this.#unanswered.map((batch) => batch.find(key, this)).filter((pending) => pending !== undefined)
  }

  /** A decision on a key was handed over: later ones that are under way will be too, and what comes then has to wait for them. */
  holdBack(key: string): void {
    const batch = this.#unanswered.findLast((other) => other.find(key, this) !== undefined)
    if (batch === undefined) return
    batch.holdBack(key, this)
    this.#hasBarriers = true
  }

  #isHeldBack(key: string): boolean {
    return this.listPending(key).some(({ followers }) => followers !== undefined)
  }

  // Notes the time of a decision. A clock that has stepped back may be behind the states of keys.
  #isInTime(nowMs: number): boolean {
    const isInTime = nowMs >= this.#latestMs
    const isSetBack = this.#latestMs - nowMs > MOST_LAG_MS
    if (isSetBack) this.#fullLeft = FULL_FOR
    if (isInTime || isSetBack) this.#latestMs = nowMs
    return isInTime
  }

  /** What a key is called on the server. */
  nameKey(key: string): string {
    return this.#limit.hashTag ? `${this.start}{${key}}` : this.start + key
  }

  /** A rule as the scripts take it. */
  encodeTexts(rule: Rule): RuleTexts {
    if (rule === this.#limit.rule) return this.#ownTexts
    const known = this.#texts.get(rule) ?? encodeRule(rule, this.script)
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

// When a script hands over 16 of 64 decisions on a limit, its next 1,000 start at the full script.
const OFTEN = 16
const OF = 64
const FULL_FOR = 1_000
/** How far a key's own time may be ahead of the clock before the clock counts as set back for good. */
const MOST_LAG_MS = 60_000
