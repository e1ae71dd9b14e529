import { show } from '../../core/check.ts'
import { encodeScope } from '../../core/key.ts'
import type { Limit } from '../../core/limit.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Reply, StoreCall } from '../../core/store.ts'
import type { BatchScheduler } from './batch-scheduler.ts'
import { RuleBatch, type RuleBatchOptions } from './rule-batch.ts'
import { type RuleTexts, ruleTexts } from './rule-texts.ts'
import { listScripts, type Script } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'
import type { SlotLayout } from './slot-layout.ts'

/** What the keyspaces of a store share. */
export interface KeyspaceOptions {
  readonly runner: ScriptRunner
  readonly batcher: BatchScheduler
  readonly layout: SlotLayout
  readonly prefix: string
}

/** What keys start with, unless the store is told otherwise. */
export const DEFAULT_PREFIX = 'sluice:'

/** What a key of a limit is called on the server. With a tag, the keys of one subject lie in one slot of a Cluster. */
export function redisKey(prefix: string, limit: Limit, key: string): string {
  return nameKey(`${prefix}${encodeScope(limit)}:`, limit, key)
}

function nameKey(start: string, { hashTag }: Limit, key: string): string {
  return hashTag && key !== '' ? `${start}{${key}}` : start + key
}

/** The keys of one limit on Redis. */
export class RedisKeyspace {
  /** What was last seen to be left of this limit, by any key: how scarce it is. */
  lastRemaining: number
  /** What all its keys start with. */
  readonly start: string
  readonly #limit: Limit
  readonly #batcher: BatchScheduler
  readonly #batches: RuleBatchOptions
  readonly #texts = new WeakMap<Rule, RuleTexts>()
  readonly #ownTexts: RuleTexts
  #batch: RuleBatch | undefined

  constructor({ runner, layout, batcher, prefix }: KeyspaceOptions, limit: Limit) {
    const { rule } = limit
    const script = findScript(rule)
    this.lastRemaining = rule.limit
    this.start = `${prefix}${encodeScope(limit)}:`
    this.#limit = limit
    this.#batcher = batcher
    this.#batches = { runner, layout, script, keyspace: this, most: batcher.mostFor([limit]) }
    this.#ownTexts = ruleTexts(rule, script)
  }

  /** Lets a call of one operation go to the server with others of its limit. */
  add(operation: Operation, { nowMs, timeoutMs }: StoreCall, reply: Reply): void {
    const texts = this.textsOf(operation.rule)
    let batch = this.#batch
    if (batch === undefined || !batch.takes(texts, nowMs)) {
      batch = new RuleBatch(this.#batches, texts, nowMs, timeoutMs)
      this.#batch = batch
      this.#batcher.open(batch)
    }
    batch.add(operation, reply)
    this.#batcher.joined(batch)
  }

  /** Something comes that has to be decided after what waits here: what comes later has to go later still. */
  closeBatch(): void {
    this.#batch = undefined
  }

  /** What a key is called on the server. */
  nameOf(key: string): string {
    return nameKey(this.start, this.#limit, key)
  }

  /** A rule's parameters as its script takes them. */
  textsOf(rule: Rule): RuleTexts {
    if (rule === this.#limit.rule) return this.#ownTexts
    const known = this.#texts.get(rule) ?? ruleTexts(rule, this.#batches.script)
    this.#texts.set(rule, known)
    return known
  }
}

function findScript(rule: Rule): Script {
  const script = listScripts().findLast(({ name }) => name === rule.kind)
  if (script !== undefined && rule.kind !== 'tiers') return script
  const known = [...new Set(listScripts().map(({ name }) => name))].filter((name) => name !== 'tiers').join(', ')
  throw new LimiterError('INVALID_OPTION', `redisStore has no script for the rule ${show(rule.kind)}: it has ${known}`)
}
