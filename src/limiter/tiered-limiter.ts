import { knownOptions, milliseconds, wholeNumber } from '../core/check.ts'
import { type Clock, readClock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { encodeSubject, type Subject } from '../core/key.ts'
import type { Limit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import {
  createConsume,
  createOperation,
  type LimitKey,
  type Operation,
  type OperationParts,
  type OperationType,
} from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import type { Health } from '../stores/failover/circuit-breaker.ts'
import { composeDecision } from './compose-decision.ts'
import { DecisionEvents, type DecisionEventsOptions, type LimiterEvents, type Listeners } from './events.ts'
import type { Hold, OpenHold } from './hold.ts'
import type { Lease } from './lease.ts'
import type { Limiter } from './limiter.ts'
import type {
  AcquireOptions,
  Amounts,
  BlockOptions,
  ConsumeOptions,
  CostOptions,
  Key,
  ReserveOptions,
  Scheduled,
  WaitOptions,
} from './options.ts'
import {
  type AmountRule,
  assertFlag,
  COST,
  consumeKey,
  createOfType,
  parseIdempotency,
  parseKey,
  parseOperations,
} from './parse-call.ts'
import { PendingDecision } from './pending-decision.ts'
import { Reservations } from './reservations.ts'
import type { RuleResolver } from './rule-resolver.ts'
import { WaitQueues } from './wait-queues.ts'

/** Consumes at once where the store decides at once. */
export type Consume = (key: Key<string>, options?: ConsumeOptions<string>) => Decision | Promise<Decision>

/** Finds the fastest way to consume. A limiter whose `consume` was replaced, such as one with spans around it, keeps that. */
export function resolveConsume(limiter: Limiter<string>): Consume {
  const isOwn = limiter.consume === TieredLimiter.prototype.consume
  return isOwn ? (limiter as TieredLimiter).consumeAtOnce.bind(limiter) : limiter.consume.bind(limiter)
}

/** What a limiter is made of. Trusted: `createLimiter` has checked it. */
export interface LimiterParts extends DecisionEventsOptions {
  readonly name: string
  readonly limits: readonly Limit[]
  /** Who finds the rule for a subject, where a limit has such. */
  readonly resolvers: ReadonlyMap<Limit, RuleResolver>
  readonly store: Store
  readonly closesStore: boolean
  readonly health: () => Health
  /** How long a decision waits for the store; 0 when it answers at once. */
  readonly timeoutMs: number
  readonly clock: Clock | undefined
  readonly idMs: number
  readonly maxWaiting: number
}

const AMOUNT: AmountRule = { what: 'amount', least: 1 }
const PEEKED: AmountRule = { ...COST, least: 0 }
const NO_OPTIONS = Object.freeze({})
const CONSUME_OPTIONS = ['cost', 'id']

/** A limiter of one limit or many: every call is parsed into operations, decided by the store, and composed into a decision. */
export class TieredLimiter implements Limiter<string> {
  readonly name: string
  readonly rules: Readonly<Record<string, Rule>>
  readonly shadows: readonly string[]
  readonly #parts: LimiterParts
  /** The one limit of a limiter without tiers. */
  readonly #only: Limit | undefined
  readonly #queues: WaitQueues
  readonly #reservations: Reservations
  readonly #listeners: Listeners
  readonly #events: DecisionEvents
  /** Whether a limit finds the rule for each subject. */
  readonly #resolves: boolean
  #isOpen = true

  constructor(parts: LimiterParts) {
    const { name, limits, clock, maxWaiting, listeners } = parts
    this.name = name
    this.rules = Object.fromEntries(limits.map((limit) => [limit.name, limit.rule]))
    this.shadows = limits.filter(({ shadow }) => shadow).map((limit) => limit.name)
    this.#parts = parts
    this.#resolves = parts.resolvers.size > 0
    this.#only = limits[0]?.tier === undefined ? limits[0] : undefined
    this.#listeners = listeners
    this.#events = new DecisionEvents(parts)
    const host = {
      name,
      limits,
      clock,
      maxWaiting,
      shadows: this.shadows,
      events: this.#events,
      assertOpen: (): void => this.#assertOpen(),
      parseKey: (key: unknown): readonly LimitKey[] => this.#keys(key),
      decide: (operations: readonly Operation[]): Decision | Promise<Decision> => this.#decideAll(operations),
      peek: (keys: readonly LimitKey[], cost: unknown): Promise<Decision> => this.#peek(keys, cost),
      refund: (keys: readonly LimitKey[], cost: unknown): Promise<Decision> => this.#refund(keys, cost),
      wake: (keys: readonly LimitKey[]): void => this.#queues.wake(keys),
    }
    this.#reservations = new Reservations(host)
    this.#queues = new WaitQueues(host, this.#reservations)
  }

  get health(): Health {
    return this.#parts.health()
  }

  // Not an async function: a decision that is made at once, or by a promise of its own, needs no other.
  consume(key: Key<string>, options?: ConsumeOptions<string>): Promise<Decision> {
    try {
      const answer = this.consumeAtOnce(key, options)
      return answer instanceof Promise ? answer : Promise.resolve(answer)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** As `consume`, but returns the decision itself where the store decides at once, and throws what is wrong. */
  consumeAtOnce(key: Key<string>, options: ConsumeOptions<string> = NO_OPTIONS): Decision | Promise<Decision> {
    if (options !== NO_OPTIONS) knownOptions('consume()', options, CONSUME_OPTIONS, 'INVALID_ARGUMENT')
    const { cost, id } = options
    return this.run(this.parse(key, cost, id), key, cost)
  }

  /** Checks a consume whole. For callers that check several before `run` counts the first. */
  parse(key: unknown, cost: unknown, id: unknown): PendingDecision {
    const { limits, store, timeoutMs, idMs } = this.#parts
    const limit = this.#only
    if (limit !== undefined && id === undefined) {
      this.#assertOpen()
      const amount = cost === undefined ? 1 : wholeNumber('cost', cost, 1, undefined, 'INVALID_ARGUMENT')
      const subject = key as Subject
      const operation = createConsume(limit, subject, encodeSubject(subject), amount, limit.blockMs)
      return new PendingDecision([operation], undefined, timeoutMs, store.name)
    }
    const operations = parseOperations(limits, this.#keys(key), cost, COST, consumeKey)
    return new PendingDecision(operations, parseIdempotency(operations, id, idMs), timeoutMs, store.name)
  }

  /** Decides a consume that was parsed, and tells listeners of it with the key and the cost as they were given. */
  run(call: PendingDecision, key: unknown, cost: unknown): Decision | Promise<Decision> {
    const startedMs = this.#listeners.hasAny ? this.#events.startedMs() : undefined
    const answer = this.#resolves ? this.#resolveAndDecide(call) : this.#decide(call)
    return startedMs === undefined ? answer : this.#tell(answer, key, cost, startedMs)
  }

  async peek(key: Key<string>, options: CostOptions<string> = NO_OPTIONS): Promise<Decision> {
    knownOptions('peek()', options, ['cost'], 'INVALID_ARGUMENT')
    return this.#peek(this.#keys(key), options.cost)
  }

  async charge(key: Key<string>, amounts?: Amounts<string>): Promise<Decision> {
    const decision = await this.#decideAll(this.#operations(this.#keys(key), amounts, AMOUNT, 'charge'))
    this.#listeners.emit('charged', { key, amount: amounts ?? 1, decision })
    return decision
  }

  async giveBack(key: Key<string>, amounts?: Amounts<string>): Promise<Decision> {
    const decision = await this.#refund(this.#keys(key), amounts)
    this.#listeners.emit('givenBack', { key, amount: amounts ?? 1, decision })
    return decision
  }

  reserve(key: Key<string>, options: ReserveOptions<string>): Promise<Hold<string>> {
    return this.#reservations.reserve(key, options)
  }

  resume(token: string): OpenHold<string> {
    return this.#reservations.resume(token)
  }

  acquire(key: Key<string>, options: AcquireOptions<string> = NO_OPTIONS): Promise<Lease> {
    return this.#reservations.acquire(key, options)
  }

  wait(key: Key<string>, options: WaitOptions<string> = NO_OPTIONS): Promise<Decision> {
    return this.#queues.wait(key, options)
  }

  schedule<Value>(
    key: Key<string>,
    run: () => Value | Promise<Value>,
    options: WaitOptions<string> = NO_OPTIONS,
  ): Promise<Scheduled<Value>> {
    return this.#queues.schedule(key, run, options)
  }

  async block(key: Key<string>, blockMs: number, options: BlockOptions = NO_OPTIONS): Promise<Decision> {
    milliseconds('blockMs', blockMs, 'INVALID_ARGUMENT')
    knownOptions('block()', options, ['replace'], 'INVALID_ARGUMENT')
    const { replace } = options
    assertFlag('replace', replace)
    const decision = await this.#change(key, 'block', { amount: blockMs, replaces: replace === true })
    this.#listeners.emit('blocked', { key, blockMs, decision })
    return decision
  }

  async unblock(key: Key<string>): Promise<Decision> {
    const decision = await this.#change(key, 'unblock', {})
    this.#listeners.emit('unblocked', { key, decision })
    return decision
  }

  async reset(key: Key<string>): Promise<Decision> {
    const decision = await this.#change(key, 'reset', {})
    this.#listeners.emit('reset', { key, decision })
    return decision
  }

  forgetPolicy(subject?: Subject): void {
    const key = subject === undefined ? undefined : encodeSubject(subject)
    for (const resolver of this.#parts.resolvers.values()) resolver.forget(key)
  }

  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void {
    return this.#listeners.add(name, listener)
  }

  async close(): Promise<void> {
    const { store, closesStore, limits } = this.#parts
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#queues.close()
    if (closesStore) await store.close?.()
    for (const limit of limits) store.unregister?.(limit)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  // Apart, so that a decision without listeners pays nothing for them.
  #tell(
    answer: Decision | Promise<Decision>,
    key: unknown,
    cost: unknown,
    startedMs: number,
  ): Decision | Promise<Decision> {
    const tell = (decision: Decision): Decision => this.#events.decided(key as Key<string>, cost, decision, startedMs)
    return answer instanceof Promise ? answer.then(tell) : tell(answer)
  }

  #decideAll(operations: readonly Operation[]): Decision | Promise<Decision> {
    const { store, timeoutMs } = this.#parts
    const call = new PendingDecision(operations, undefined, timeoutMs, store.name)
    return this.#resolves ? this.#resolveAndDecide(call) : this.#decide(call)
  }

  /** Lets the store decide. The decision is there at once when the store can make it at once. */
  #decide(call: PendingDecision): Decision | Promise<Decision> {
    const { store, clock } = this.#parts
    if (clock !== undefined) call.nowMs = readClock(clock)
    const results = store.decide(call, call)
    return results === undefined ? call.promise() : composeDecision(call.operations, results, store.name)
  }

  async #resolveAndDecide(call: PendingDecision): Promise<Decision> {
    const { resolvers } = this.#parts
    const rules = call.operations.map(({ limit, key, subject }) => resolvers.get(limit)?.ruleFor(key, subject))
    call.resolve(await Promise.all(rules))
    return this.#decide(call)
  }

  #keys(key: unknown): readonly LimitKey[] {
    this.#assertOpen()
    return parseKey(this.#parts.limits, key)
  }

  #operations(keys: readonly LimitKey[], given: unknown, rule: AmountRule, type: OperationType): readonly Operation[] {
    return parseOperations(this.#parts.limits, keys, given, rule, createOfType(type))
  }

  async #peek(keys: readonly LimitKey[], cost: unknown): Promise<Decision> {
    return this.#decideAll(this.#operations(keys, cost, PEEKED, 'peek'))
  }

  async #refund(keys: readonly LimitKey[], amounts: unknown): Promise<Decision> {
    const decision = await this.#decideAll(this.#operations(keys, amounts, AMOUNT, 'refund'))
    this.#queues.wake(keys)
    return decision
  }

  async #change(key: Key<string>, type: OperationType, parts: OperationParts): Promise<Decision> {
    const keys = this.#keys(key)
    const decision = await this.#decideAll(keys.map((one) => createOperation(one, type, parts)))
    this.#queues.wake(keys)
    return decision
  }

  #assertOpen(): void {
    if (this.#isOpen) return
    throw new LimiterError('LIMITER_CLOSED', `the limiter "${this.name}" is closed: it decides nothing any more`)
  }
}
