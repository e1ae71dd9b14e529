import { show } from '../../core/check.ts'
import type { Verdict } from '../../core/decision.ts'
import { encodeScope } from '../../core/key.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'
import type { Place, Shelf } from '../../core/store.ts'
import { decodeVerdicts } from './decode-verdict.ts'
import { requestText } from './request-text.ts'
import { listScripts, type Script } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'

/** Decides on the keys of one limit whose rule may change. */
export type DecideChanging = (
  shelf: RedisShelf,
  key: string,
  request: Request,
  nowMs: number,
  rule: Rule,
) => Promise<Verdict>

/** The keys of one limit on Redis. Every decision is one run of one script, and so is atomic. */
export class RedisShelf implements Shelf {
  readonly isChanging: boolean
  /** What was last seen to be left of this limit, by any key: how scarce it is. */
  lastRemaining: number
  readonly #runner: ScriptRunner
  readonly #rule: Rule
  readonly #script: Script
  readonly #keys: string
  readonly #isTagged: boolean
  readonly #decideChanging: DecideChanging
  readonly #texts = new WeakMap<Rule, RuleTexts>()

  constructor(runner: ScriptRunner, prefix: string, place: Place, decideChanging: DecideChanging) {
    this.isChanging = place.changing === true
    this.lastRemaining = place.rule.limit
    this.#runner = runner
    this.#rule = place.rule
    this.#script = scriptOf(place.rule)
    this.#keys = `${prefix}${encodeScope(place)}:`
    this.#isTagged = place.sharedTag === true
    this.#decideChanging = decideChanging
    this.textsOf(place.rule)
  }

  async decide(key: string, request: Request, nowMs: number, rule: Rule = this.#rule): Promise<Verdict> {
    if (this.isChanging) return this.#decideChanging(this, key, request, nowMs, rule)
    const { required, optional } = this.textsOf(rule)
    const args = [...required, `${nowMs}`, requestText(request), ...optional]
    const reply = await this.#runner.run(this.#script, [this.nameOf(key)], args)
    const [verdict] = decodeVerdicts(reply, [request]).verdicts
    return verdict as Verdict
  }

  /** What a key is called on the server. With a tag, the keys of one subject lie in one slot of a Cluster. */
  nameOf(key: string): string {
    return this.#isTagged && key !== '' ? `${this.#keys}{${key}}` : this.#keys + key
  }

  /** A rule's parameters as its script takes them. */
  textsOf(rule: Rule): RuleTexts {
    const known = this.#texts.get(rule)
    if (known !== undefined) return known
    const text = (name: string): string => parameter(rule, name)
    const texts = { required: this.#script.required.map(text), optional: this.#script.optional.map(text) }
    this.#texts.set(rule, texts)
    return texts
  }
}

/** The parameters of a rule that its script always takes, and those that it has defaults for. */
export interface RuleTexts {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

function scriptOf(rule: Rule): Script {
  const script = listScripts().findLast(({ name }) => name === rule.kind)
  if (script !== undefined && rule.kind !== 'tiers') return script
  const known = [...new Set(listScripts().map(({ name }) => name))].filter((name) => name !== 'tiers').join(', ')
  throw new LimiterError('INVALID_OPTION', `redisStore has no script for the rule ${show(rule.kind)}: it has ${known}`)
}

function parameter(rule: Rule, name: string): string {
  const value = rule.parameters[name]
  if (value !== undefined) return `${value}`
  throw new LimiterError('INVALID_OPTION', `the rule ${rule.kind} has no parameter ${name}, which its script takes`)
}
