import { knownOptions, milliseconds, wholeNumber } from '../core/check.ts'
import { type Clock, readClock, STORE_TIME } from '../core/clock.ts'
import type { Decision, TierVerdict, Verdict } from '../core/decision.ts'
import { encodeSubject, type Subject } from '../core/key.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Rule } from '../core/rule.ts'
import type { Shelf, Store } from '../core/store.ts'
import { type LimiterEvents, Listeners } from './events.ts'
import type { CostOptions, Limiter } from './limiter.ts'

const NO_TIERS: Readonly<Record<string, TierVerdict>> = Object.freeze({})

/** A limiter of one rule. */
export class RuleLimiter implements Limiter {
  readonly name: string
  readonly rule: Rule
  readonly #store: Store
  readonly #ownsStore: boolean
  readonly #clock: Clock | undefined
  readonly #listeners = new Listeners()
  #shelf: Shelf | undefined

  constructor(name: string, rule: Rule, store: Store, ownsStore: boolean, clock: Clock | undefined) {
    this.name = name
    this.rule = rule
    this.#store = store
    this.#ownsStore = ownsStore
    this.#clock = clock
    this.#shelf = store.open(name, rule)
  }

  async consume(key: Subject, options?: CostOptions): Promise<Decision> {
    const cost = options === undefined ? 1 : costOf('consume()', options, 1)
    const answer = this.#opened().consume(encodeSubject(key), cost, this.#nowMs())
    // A store that need not wait must not cost its callers a turn of the event loop.
    const decision = this.#decided('allowed' in answer ? answer : await answer)
    if (this.#listeners.has('decided')) this.#listeners.emit('decided', { key, cost, decision })
    if (!decision.allowed && this.#listeners.has('refused')) this.#listeners.emit('refused', { key, cost, decision })
    return decision
  }

  async peek(key: Subject, options?: CostOptions): Promise<Decision> {
    const cost = options === undefined ? 1 : costOf('peek()', options, 0)
    return this.#decided(await this.#opened().peek(encodeSubject(key), cost, this.#nowMs()))
  }

  async charge(key: Subject, amount = 1): Promise<Decision> {
    wholeNumber('amount', amount, 1, undefined, 'INVALID_ARGUMENT')
    const decision = this.#decided(await this.#opened().charge(encodeSubject(key), amount, this.#nowMs()))
    this.#listeners.emit('charged', { key, amount, decision })
    return decision
  }

  async giveBack(key: Subject, amount = 1): Promise<Decision> {
    wholeNumber('amount', amount, 1, undefined, 'INVALID_ARGUMENT')
    const decision = this.#decided(await this.#opened().giveBack(encodeSubject(key), amount, this.#nowMs()))
    this.#listeners.emit('givenBack', { key, amount, decision })
    return decision
  }

  async block(key: Subject, blockMs: number): Promise<Decision> {
    milliseconds('blockMs', blockMs, 'INVALID_ARGUMENT')
    const decision = this.#decided(await this.#opened().block(encodeSubject(key), blockMs, this.#nowMs()))
    this.#listeners.emit('blocked', { key, blockMs, decision })
    return decision
  }

  async unblock(key: Subject): Promise<Decision> {
    const decision = this.#decided(await this.#opened().unblock(encodeSubject(key), this.#nowMs()))
    this.#listeners.emit('unblocked', { key, decision })
    return decision
  }

  async reset(key: Subject): Promise<Decision> {
    const decision = this.#decided(await this.#opened().reset(encodeSubject(key), this.#nowMs()))
    this.#listeners.emit('reset', { key, decision })
    return decision
  }

  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void {
    return this.#listeners.add(name, listener)
  }

  async close(): Promise<void> {
    if (this.#shelf === undefined) return
    this.#shelf = undefined
    if (this.#ownsStore) await this.#store.close?.()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #opened(): Shelf {
    if (this.#shelf !== undefined) return this.#shelf
    throw new LimiterError('LIMITER_CLOSED', `the limiter "${this.name}" is closed: it decides nothing any more`)
  }

  #nowMs(): number {
    return this.#clock === undefined ? STORE_TIME : readClock(this.#clock)
  }

  #decided(verdict: Verdict): Decision {
    return {
      allowed: verdict.allowed,
      limit: this.rule.limit,
      remaining: verdict.remaining,
      retryAfterMs: verdict.retryAfterMs,
      resetAfterMs: verdict.resetAfterMs,
      delayMs: verdict.delayMs,
      limitedBy: verdict.allowed ? undefined : this.name,
      reason: verdict.reason,
      decidedBy: this.#store.kind,
      tiers: NO_TIERS,
    }
  }
}

function costOf(what: string, options: CostOptions, least: number): number {
  knownOptions(what, options, ['cost'], 'INVALID_ARGUMENT')
  return options.cost === undefined ? 1 : wholeNumber('cost', options.cost, least, undefined, 'INVALID_ARGUMENT')
}
