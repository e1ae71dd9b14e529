import { knownOptions, trueOrFalse, wholeNumber } from '../core/check.ts'
import { type Clock, readClock, STORE_TIME } from '../core/clock.ts'
import type { Decision, LimitResult } from '../core/decision.ts'
import { type Duration, readDuration } from '../core/duration.ts'
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
import { optional, readOptions } from '../core/read-options.ts'
import type { Rule } from '../core/rule.ts'
import type { Decide, Health, Store } from '../core/store.ts'
import { composeDecision, composeOne, PendingDecision } from './compose-decision.ts'
import type { LimiterEvents, Listeners } from './events.ts'
import { acquire, type Lease } from './lease.ts'
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
  AMOUNT,
  COST,
  consumeKey,
  createOfType,
  PEEKED_COST,
  parseIdempotency,
  parseKey,
  parseOperations,
} from './parse-call.ts'
import { type OpenReservation, type Reservation, reserve, resume } from './reservation.ts'
import type { RuleResolver } from './rule-resolver.ts'
import { type WaitHost, WaitQueues } from './wait-queues.ts'

/** What a limiter is made of. Trusted: `createLimiter` has checked it. */
export interface LimiterParts {
  readonly name: string
  readonly limits: readonly Limit[]
  /** Who finds the rule for a subject, where a limit has such. */
  readonly resolvers: ReadonlyMap<Limit, RuleResolver>
  readonly store: Store
  /** Whether the store ends with the limiter. */
  readonly ownsStore: boolean
  readonly health: () => Health
  /** How long a decision waits for the store; 0 when it answers at once. */
  readonly timeoutMs: number
  readonly clock: Clock | undefined
  readonly events: Listeners
  readonly idempotencyTtlMs: number
  readonly maxQueue: number
}

const NO_OPTIONS = Object.freeze({})
const CONSUME_OPTIONS = ['cost', 'idempotencyKey']
const BLOCK_OPTIONS = { replace: optional(trueOrFalse, false) }

/** A limiter of one limit or many: every call is parsed into operations, decided by the store, and composed into a decision. */
export class TieredLimiter implements Limiter<string>, WaitHost {
  readonly name: string
  readonly rules: Readonly<Record<string, Rule>>
  readonly shadows: readonly string[]
  readonly prefetches: readonly string[]
  readonly limits: readonly Limit[]
  readonly clock: Clock | undefined
  readonly events: Listeners
  readonly #parts: LimiterParts
  /** The one limit of a limiter without tiers. */
  readonly #only: Limit | undefined
  /** The result of one operation, if the store knows it now. Absent where a rule has to be found before. */
  readonly #decideOne: Decide['one']
  readonly #queues: WaitQueues
  /** Whether a limit finds the rule for each subject. */
  readonly #resolves: boolean
  #isOpen = true

  constructor(parts: LimiterParts) {
    const { name, limits, store, clock, events, resolvers, maxQueue } = parts
    this.name = name
    this.limits = limits
    this.clock = clock
    this.events = events
    this.rules = Object.fromEntries(limits.map((limit) => [limit.name, limit.rule]))
    this.shadows = limits.flatMap(({ name, shadow }) => (shadow ? [name] : []))
    this.prefetches = limits.flatMap(({ name, prefetch }) => (prefetch === undefined ? [] : [name]))
    this.#parts = parts
    this.#resolves = resolvers.size > 0
    this.#only = limits[0]?.tier === undefined ? limits[0] : undefined
    this.#decideOne = this.#only !== undefined && !this.#resolves ? store.decide.one : undefined
    this.#queues = new WaitQueues(this, maxQueue)
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
    const { cost, idempotencyKey } = options
    if (this.#decideOne === undefined || idempotencyKey !== undefined || this.events.hasAny) {
      return this.run(this.parse(key, cost, idempotencyKey), key, cost)
    }
    const { store, clock } = this.#parts
    const operation = this.#parseConsume(this.#only as Limit, key, cost)
    const result = this.#decideOne(operation, clock === undefined ? STORE_TIME : readClock(clock))
    if (result !== undefined) return composeOne(operation, result, store.name)
    return this.#decide(new PendingDecision(this.#parts, [operation]))
  }

  /** Checks a consume whole. For callers that check several before `run` counts the first. */
  parse(key: unknown, cost: unknown, id: unknown): PendingDecision {
    const parts = this.#parts
    const limit = this.#only
    if (limit !== undefined && id === undefined) {
      return new PendingDecision(parts, [this.#parseConsume(limit, key, cost)])
    }
    const operations = parseOperations(this.limits, this.parseKey(key), cost, COST, consumeKey)
    return new PendingDecision(parts, operations, parseIdempotency(operations, id, parts.idempotencyTtlMs))
  }

  #parseConsume(limit: Limit, key: unknown, cost: unknown): Operation {
    if (!this.#isOpen) this.assertOpen()
    const amount = cost === undefined ? 1 : wholeNumber('cost', cost, 1, undefined, 'INVALID_ARGUMENT')
    const subject = key as Subject
    return createConsume(limit, subject, encodeSubject(subject), amount, limit.blockMs)
  }

  /** Decides a consume that was parsed, and tells listeners of it with the key and the cost as they were given. */
  run(call: PendingDecision, key: unknown, cost: unknown): Decision | Promise<Decision> {
    if (!this.events.hasAny) return this.#decide(call)
    const startedMs = this.events.startedMs()
    const tell = (decision: Decision): Decision => this.events.decided(key as Key<string>, cost, decision, startedMs)
    const answer = this.#decide(call)
    return answer instanceof Promise ? answer.then(tell) : tell(answer)
  }

  async peek(key: Key<string>, options: CostOptions<string> = NO_OPTIONS): Promise<Decision> {
    knownOptions('peek()', options, ['cost'], 'INVALID_ARGUMENT')
    return this.decide(
      parseOperations(this.limits, this.parseKey(key), options.cost, PEEKED_COST, createOfType('peek')),
    )
  }

  async charge(key: Key<string>, amounts?: Amounts<string>): Promise<Decision> {
    const keys = this.parseKey(key)
    const decision = await this.decide(parseOperations(this.limits, keys, amounts, AMOUNT, createOfType('charge')))
    this.events.emit('charged', { key, amount: amounts ?? 1, decision })
    return decision
  }

  async refund(key: Key<string>, amounts?: Amounts<string>): Promise<Decision> {
    const keys = this.parseKey(key)
    const decision = await this.decide(parseOperations(this.limits, keys, amounts, AMOUNT, createOfType('refund')))
    this.wake(keys)
    this.events.emit('refunded', { key, amount: amounts ?? 1, decision })
    return decision
  }

  reserve(key: Key<string>, options: ReserveOptions<string>): Promise<Reservation<string>> {
    return reserve(this, key, options)
  }

  resumeReservation(token: string): OpenReservation<string> {
    return resume(this, token)
  }

  acquire(key: Key<string>, options: AcquireOptions<string> = NO_OPTIONS): Promise<Lease> {
    return acquire(this, key, options)
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

  async block(key: Key<string>, blockFor: Duration, options: BlockOptions = NO_OPTIONS): Promise<Decision> {
    const blockMs = readDuration('blockFor', blockFor, 'INVALID_ARGUMENT')
    const { replace: replaces } = readOptions('block()', options, BLOCK_OPTIONS, 'INVALID_ARGUMENT')
    const decision = await this.#change(key, 'block', { amount: blockMs, replaces })
    this.events.emit('blocked', { key, blockMs, decision })
    return decision
  }

  async unblock(key: Key<string>): Promise<Decision> {
    const decision = await this.#change(key, 'unblock', {})
    this.events.emit('unblocked', { key, decision })
    return decision
  }

  async reset(key: Key<string>): Promise<Decision> {
    const decision = await this.#change(key, 'reset', {})
    this.events.emit('reset', { key, decision })
    return decision
  }

  forgetRules(subject?: Subject): void {
    const key = subject === undefined ? undefined : encodeSubject(subject)
    for (const resolver of this.#parts.resolvers.values()) resolver.forget(key)
  }

  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void {
    return this.events.add(name, listener)
  }

  async close(): Promise<void> {
    const { store, ownsStore, limits } = this.#parts
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#queues.close()
    if (ownsStore) await store.close?.()
    for (const limit of limits) store.unregister?.(limit)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  assertOpen(): void {
    if (this.#isOpen) return
    throw new LimiterError(
      'LIMITER_CLOSED',
      `the limiter "${this.name}" is closed. Call close() after the last request`,
    )
  }

  parseKey(key: unknown): readonly LimitKey[] {
    if (!this.#isOpen) this.assertOpen()
    return parseKey(this.limits, key)
  }

  decide(operations: readonly Operation[]): Decision | Promise<Decision> {
    return this.#decide(new PendingDecision(this.#parts, operations))
  }

  /** Decides operations that the caller has checked. `results` has one for each of them. Listeners hear of it from the caller. */
  async decideEach(operations: readonly Operation[]): Promise<{ decision: Decision; results: readonly LimitResult[] }> {
    this.assertOpen()
    const call = new PendingDecision(this.#parts, operations)
    const decision = await this.#decide(call)
    return { decision, results: call.results }
  }

  wake(keys: readonly LimitKey[]): void {
    this.#queues.wake(keys)
  }

  /** Lets the store decide. The decision is there at once when the store can make it at once. */
  #decide(call: PendingDecision, isResolved = !this.#resolves): Decision | Promise<Decision> {
    if (!isResolved) return this.#resolveAndDecide(call)
    const { store, clock } = this.#parts
    if (clock !== undefined) call.nowMs = readClock(clock)
    const results = store.decide(call, call)
    return results === undefined ? call.outcome() : composeDecision(call, results)
  }

  async #resolveAndDecide(call: PendingDecision): Promise<Decision> {
    const rules = call.operations.map(({ limit, key, subject }) =>
      this.#parts.resolvers.get(limit)?.ruleFor(key, subject),
    )
    call.resolve(await Promise.all(rules))
    return this.#decide(call, true)
  }

  async #change(key: Key<string>, type: OperationType, parts: OperationParts): Promise<Decision> {
    const keys = this.parseKey(key)
    const decision = await this.decide(keys.map((one) => createOperation(one, type, parts)))
    this.wake(keys)
    return decision
  }
}
