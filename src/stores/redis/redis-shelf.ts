import type { Verdict } from '../../core/decision.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Rule } from '../../core/rule.ts'
import type { Shelf } from '../../core/store.ts'
import { decodeVerdict } from './decode-verdict.ts'
import type { Script } from './script-catalog.ts'
import type { ScriptRunner } from './script-runner.ts'

/** One limiter's keys on Redis. Every operation is one run of one script, and so is atomic. */
export class RedisShelf implements Shelf {
  readonly #runner: ScriptRunner
  readonly #script: Script
  readonly #keys: string
  readonly #required: readonly string[]
  readonly #optional: readonly string[]

  /** @param keys what the names of all keys start with. */
  constructor(runner: ScriptRunner, script: Script, rule: Rule, keys: string) {
    this.#runner = runner
    this.#script = script
    this.#keys = keys
    this.#required = script.required.map((name) => parameter(rule, name))
    this.#optional = script.optional.map((name) => parameter(rule, name))
  }

  consume(key: string, cost: number, nowMs: number): Promise<Verdict> {
    return this.#run(key, `${cost}`, nowMs)
  }

  peek(key: string, cost: number, nowMs: number): Promise<Verdict> {
    return this.#run(key, `peek:${cost}`, nowMs)
  }

  charge(key: string, amount: number, nowMs: number): Promise<Verdict> {
    return this.#run(key, `charge:${amount}`, nowMs)
  }

  giveBack(key: string, amount: number, nowMs: number): Promise<Verdict> {
    return this.#run(key, `giveBack:${amount}`, nowMs)
  }

  block(key: string, blockMs: number, nowMs: number): Promise<Verdict> {
    return this.#run(key, `block:${blockMs}`, nowMs)
  }

  unblock(key: string, nowMs: number): Promise<Verdict> {
    return this.#run(key, 'unblock', nowMs)
  }

  reset(key: string, nowMs: number): Promise<Verdict> {
    return this.#run(key, 'reset', nowMs)
  }

  async #run(key: string, request: string, nowMs: number): Promise<Verdict> {
    const args = [...this.#required, `${nowMs}`, request, ...this.#optional]
    let reply: unknown
    try {
      reply = await this.#runner.run(this.#script, this.#keys + key, args)
    } catch (cause) {
      if (cause instanceof LimiterError) throw cause
      const why = cause instanceof Error ? cause.message || cause.name : String(cause)
      throw new LimiterError('STORE_FAILED', `Redis did not decide by ${this.#script.name}: ${why}`, { cause })
    }
    return decodeVerdict(reply)
  }
}

function parameter(rule: Rule, name: string): string {
  const value = rule.parameters[name]
  if (value !== undefined) return `${value}`
  throw new LimiterError('INVALID_OPTION', `the rule ${rule.kind} has no parameter ${name}, which its script takes`)
}
