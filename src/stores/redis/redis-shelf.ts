import { show } from '../../core/check.ts'
import type { Verdict } from '../../core/decision.ts'
import { encodeScope } from '../../core/key.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'
import type { Listener, Place, Shelf } from '../../core/store.ts'
import { Batch, type BatchOptions } from './batch.ts'
import type { Batcher } from './batcher.ts'
import type { RedisOrder } from './decide-in-one-slot.ts'
import { type RuleTexts, ruleTexts } from './rule-texts.ts'
import { listScripts, type Script } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'
import type { SlotLayout } from './slot-layout.ts'

/** What the shelves of a store share. */
export interface ShelfOptions {
  readonly runner: ScriptRunner
  readonly batcher: Batcher
  readonly layout: SlotLayout
  readonly prefix: string
  /** Decides what goes by a rule of its own. */
  readonly decideAlone: (order: RedisOrder, nowMs: number) => Promise<Verdict>
}

/** The keys of one limit on Redis. Every decision is part of one run of one script, and so is atomic. */
export class RedisShelf implements Shelf {
  readonly isChanging: boolean
  /** How long somebody waits for a decision, as far as that is known. */
  readonly deadlineMs: number | undefined
  /** What was last seen to be left of this limit, by any key: how scarce it is. */
  lastRemaining: number
  readonly #options: ShelfOptions
  readonly #rule: Rule
  readonly #keys: string
  readonly #isTagged: boolean
  readonly #batches: BatchOptions
  readonly #texts = new WeakMap<Rule, RuleTexts>()
  readonly #ownTexts: RuleTexts
  #batch: Batch | undefined

  constructor(options: ShelfOptions, place: Place) {
    const { rule, changing, sharedTag } = place
    const script = scriptOf(rule)
    this.isChanging = changing === true
    this.deadlineMs = place.deadlineMs
    this.lastRemaining = rule.limit
    this.#options = options
    this.#rule = rule
    this.#keys = `${options.prefix}${encodeScope(place)}:`
    this.#isTagged = sharedTag === true
    const { runner, layout, batcher } = options
    const nameOf = (key: string): string => this.nameOf(key)
    this.#batches = { runner, layout, script, nameOf, most: batcher.mostFor([place]), deadlineMs: place.deadlineMs }
    this.#ownTexts = ruleTexts(rule, script)
  }

  decide(key: string, request: Request, nowMs: number, rule: Rule = this.#rule): Promise<Verdict> {
    return new Promise((decided, failed) => this.decideFor(key, request, nowMs, rule, { decided, failed }))
  }

  decideFor(key: string, request: Request, nowMs: number, rule: Rule, listener: Listener): void {
    const { batcher, decideAlone } = this.#options
    if (this.isChanging) {
      decideAlone({ shelf: this, key, request, rule, shadow: false }, nowMs).then(
        (verdict) => listener.decided(verdict),
        (error: unknown) => listener.failed(error),
      )
      return
    }
    const texts = this.textsOf(rule)
    let batch = this.#batch
    if (batch === undefined || !batch.takes(texts, nowMs)) {
      batch = new Batch(this.#batches, texts, nowMs)
      this.#batch = batch
      batcher.open(batch)
    }
    batch.add(key, request, listener)
    batcher.joined(batch)
  }

  clear(): Promise<void> {
    this.#options.batcher.flush()
    return this.#options.runner.sweep(this.#keys)
  }

  /** What a key is called on the server. With a tag, the keys of one subject lie in one slot of a Cluster. */
  nameOf(key: string): string {
    return this.#isTagged && key !== '' ? `${this.#keys}{${key}}` : this.#keys + key
  }

  /** A rule's parameters as its script takes them. */
  textsOf(rule: Rule): RuleTexts {
    if (rule === this.#rule) return this.#ownTexts
    const known = this.#texts.get(rule) ?? ruleTexts(rule, this.#batches.script)
    this.#texts.set(rule, known)
    return known
  }
}

function scriptOf(rule: Rule): Script {
  const script = listScripts().findLast(({ name }) => name === rule.kind)
  if (script !== undefined && rule.kind !== 'tiers') return script
  const known = [...new Set(listScripts().map(({ name }) => name))].filter((name) => name !== 'tiers').join(', ')
  throw new LimiterError('INVALID_OPTION', `redisStore has no script for the rule ${show(rule.kind)}: it has ${known}`)
}
