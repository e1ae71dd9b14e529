import { knownOptions, milliseconds, show, wholeNumber } from '../core/check.ts'
import { type Clock, readClock, STORE_TIME } from '../core/clock.ts'
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
import type { Idempotency, Store } from '../core/store.ts'
import type { Health } from '../stores/failover/circuit-breaker.ts'
import { composeDecision } from './compose-decision.ts'
import { DecisionEvents, type DecisionEventsOptions } from './decision-events.ts'
import type { LimiterEvents, Listeners } from './events.ts'
import { createHold, type Hold, type OpenHold, openHold } from './hold.ts'
import type { Lease } from './lease.ts'
import type {
  AcquireOptions,
  Amounts,
  BlockOptions,
  ConsumeOptions,
  CostOptions,
  Key,
  Limiter,
  ReserveOptions,
  Scheduled,
  WaitOptions,
} from './limiter.ts'
import {
  type AmountRule,
  assertFlag,
  assertId,
  COST,
  consumeKey,
  ofType,
  parseKey,
  parseOperations,
} from './parse-call.ts'
import { PendingDecision } from './pending-decision.ts'
import { isLeased, Reservations } from './reservations.ts'
import type { RuleResolver } from './rule-resolver.ts'
import { WaitQueues } from './wait-queues.ts'

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
    this.#queues = new WaitQueues(name, maxWaiting, clock)
    const assertOpen = (): void => this.#assertOpen()
    const run = (operations: readonly Operation[]): Decision | Promise<Decision> => this.#run(operations)
    this.#reservations = new Reservations({ name, limits, clock, assertOpen, run }, this.#queues)
    this.#listeners = listeners
    this.#events = new DecisionEvents(parts)
  }

  get health(): Health {
    return this.#parts.health()
  }

  // Not an async function: a decision that is made at once, or by a promise of its own, needs no other.
  consume(key: Key<string>, options: ConsumeOptions<string> = NO_OPTIONS): Promise<Decision> {
    try {
      if (options !== NO_OPTIONS) knownOptions('consume()', options, CONSUME_OPTIONS, 'INVALID_ARGUMENT')
      const { cost, id } = options
      if (id !== undefined) assertId(id)
      const answer = this.#listeners.hasAny ? this.#consumeHeard(key, cost, id) : this.#consume(key, cost, id)
      return answer instanceof Promise ? answer : Promise.resolve(answer)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async peek(key: Key<string>, options: CostOptions<string> = NO_OPTIONS): Promise<Decision> {
    knownOptions('peek()', options, ['cost'], 'INVALID_ARGUMENT')
    return this.#peek(this.#keys(key), options.cost)
  }

  async charge(key: Key<string>, amounts?: Amounts<string>): Promise<Decision> {
    const decision = await this.#run(this.#operations(this.#keys(key), amounts, AMOUNT, 'charge'))
    this.#listeners.emit('charged', { key, amount: amounts ?? 1, decision })
    return decision
  }

  async giveBack(key: Key<string>, amounts?: Amounts<string>): Promise<Decision> {
    const decision = await this.#refund(this.#keys(key), amounts)
    this.#listeners.emit('givenBack', { key, amount: amounts ?? 1, decision })
    return decision
  }

  async reserve(key: Key<string>, options: ReserveOptions<string>): Promise<Hold<string>> {
    knownOptions('reserve()', options, ['estimate', 'holdMs'], 'INVALID_ARGUMENT')
    const { estimate, holdMs = 60_000 } = options
    milliseconds('holdMs', holdMs, 'INVALID_ARGUMENT')
    const startedMs = this.#events.startedMs()
    const held = await this.#reservations.hold(this.#keys(key), estimate, holdMs)
    this.#events.decided(key, estimate, held.decision, startedMs)
    return createHold(held, (decision) => this.#listeners.emit('settled', { key, decision }))
  }

  resume(token: string): OpenHold<string> {
    const { key, ...endings } = this.#reservations.resume(token)
    return openHold(endings, (decision) => this.#listeners.emit('settled', { key, decision }))
  }

  async acquire(key: Key<string>, options: AcquireOptions<string> = NO_OPTIONS): Promise<Lease> {
    knownOptions('acquire()', options, ['cost', 'heartbeat'], 'INVALID_ARGUMENT')
    const { cost, heartbeat = true } = options
    assertFlag('heartbeat', heartbeat)
    const keys = this.#keys(key)
    if (!keys.some(isLeased)) {
      const message = 'acquire() takes a place of a concurrency() rule, and the key names none: use consume()'
      throw new LimiterError('INVALID_ARGUMENT', message)
    }
    const startedMs = this.#events.startedMs()
    const lease = await this.#reservations.lease(keys, cost, heartbeat, true)
    this.#events.decided(key, cost, lease.decision, startedMs)
    return lease
  }

  async wait(key: Key<string>, options: WaitOptions<string> = NO_OPTIONS): Promise<Decision> {
    knownOptions('wait()', options, ['cost', 'maxWaitMs', 'signal'], 'INVALID_ARGUMENT')
    const { cost } = options
    const keys = this.#keys(key)
    const operations = this.#operations(keys, cost, COST, 'consume')
    return this.#wait(key, keys, options, {
      attempt: async () => {
        this.#assertOpen()
        return this.#run(operations)
      },
      undo: () => this.#refund(keys, cost),
    })
  }

  async schedule<Value>(
    key: Key<string>,
    run: () => Value | Promise<Value>,
    options: WaitOptions<string> = NO_OPTIONS,
  ): Promise<Scheduled<Value>> {
    knownOptions('schedule()', options, ['cost', 'maxWaitMs', 'signal'], 'INVALID_ARGUMENT')
    if (typeof run !== 'function') {
      throw new LimiterError('INVALID_ARGUMENT', `schedule() takes a function to run, got ${show(run)}`)
    }
    const keys = this.#keys(key)
    if (!keys.some(isLeased)) {
      const decision = await this.wait(key, options)
      return decision.allowed ? { ran: true, value: await run(), decision } : { ran: false, value: undefined, decision }
    }
    let lease: Lease | undefined
    const decision = await this.#wait(key, keys, options, {
      attempt: async () => {
        this.#assertOpen()
        lease = await this.#reservations.lease(keys, options.cost, true, false)
        return lease.decision
      },
      undo: async () => lease?.release(),
    })
    if (!decision.allowed) return { ran: false, value: undefined, decision }
    await using _ = lease as Lease
    return { ran: true, value: await run(), decision }
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

  #consume(key: Key<string>, cost: unknown, id: string | undefined): Decision | Promise<Decision> {
    const limit = this.#only
    if (limit !== undefined && id === undefined) {
      this.#assertOpen()
      const amount = cost === undefined ? 1 : wholeNumber('cost', cost, 1, undefined, 'INVALID_ARGUMENT')
      const subject = key as Subject
      return this.#run([createConsume(limit, subject, encodeSubject(subject), amount, limit.blockMs)])
    }
    const operations = parseOperations(this.#parts.limits, this.#keys(key), cost, COST, consumeKey)
    return this.#run(operations, id === undefined ? undefined : this.#idempotency(operations, id))
  }

  // Apart, so that a decision without listeners pays nothing for them.
  #consumeHeard(key: Key<string>, cost: unknown, id: string | undefined): Decision | Promise<Decision> {
    const startedMs = this.#events.startedMs()
    const answer = this.#consume(key, cost, id)
    const tell = (decision: Decision): Decision => this.#events.decided(key, cost, decision, startedMs)
    return answer instanceof Promise ? answer.then(tell) : tell(answer)
  }

  /** Lets the store decide. The decision is there at once when the store can make it at once. */
  #run(operations: readonly Operation[], idempotency?: Idempotency): Decision | Promise<Decision> {
    return this.#resolves ? this.#resolveAndDecide(operations, idempotency) : this.#decide(operations, idempotency)
  }

  async #resolveAndDecide(operations: readonly Operation[], idempotency?: Idempotency): Promise<Decision> {
    const rules = operations.map(({ limit, key, subject }) => this.#parts.resolvers.get(limit)?.ruleFor(key, subject))
    const resolved = await Promise.all(rules)
    return this.#decide(
      operations.map((operation, index) => ({ ...operation, rule: resolved[index] ?? operation.rule })),
      idempotency,
    )
  }

  #decide(operations: readonly Operation[], idempotency: Idempotency | undefined): Decision | Promise<Decision> {
    const { store, clock, timeoutMs } = this.#parts
    const nowMs = clock === undefined ? STORE_TIME : readClock(clock)
    const pending = new PendingDecision(operations, nowMs, idempotency, timeoutMs, store.name)
    const results = store.decide(pending, pending)
    return results === undefined ? pending.promise() : composeDecision(operations, results, store.name)
  }

  #keys(key: unknown): readonly LimitKey[] {
    this.#assertOpen()
    return parseKey(this.#parts.limits, key)
  }

  #operations(keys: readonly LimitKey[], given: unknown, rule: AmountRule, type: OperationType): readonly Operation[] {
    return parseOperations(this.#parts.limits, keys, given, rule, ofType(type))
  }

  async #wait(
    key: Key<string>,
    keys: readonly LimitKey[],
    options: WaitOptions<string>,
    turn: { attempt(): Promise<Decision>; undo(): Promise<unknown> },
  ): Promise<Decision> {
    const { cost } = options
    const startedMs = this.#events.startedMs()
    const decision = await this.#queues.wait(keys, options, {
      ...turn,
      peek: () => this.#peek(keys, cost),
      isBlocked: () => this.#isBlocked(keys),
    })
    return this.#events.decided(key, cost, decision, startedMs, true)
  }

  async #peek(keys: readonly LimitKey[], cost: unknown): Promise<Decision> {
    return this.#run(this.#operations(keys, cost, PEEKED, 'peek'))
  }

  // Of all that refuse: the reason of a decision is that of the one that does so longest.
  async #isBlocked(keys: readonly LimitKey[]): Promise<boolean> {
    const { reason, tiers } = await this.#peek(keys, 0)
    if (reason === 'blocked') return true
    return Object.entries(tiers).some(([name, tier]) => tier?.reason === 'blocked' && !this.shadows.includes(name))
  }

  async #refund(keys: readonly LimitKey[], amounts: unknown): Promise<Decision> {
    const decision = await this.#run(this.#operations(keys, amounts, AMOUNT, 'refund'))
    this.#queues.wake(keys)
    return decision
  }

  async #change(key: Key<string>, type: OperationType, parts: OperationParts): Promise<Decision> {
    const keys = this.#keys(key)
    const decision = await this.#run(keys.map((one) => createOperation(one, type, parts)))
    this.#queues.wake(keys)
    return decision
  }

  #assertOpen(): void {
    if (this.#isOpen) return
    throw new LimiterError('LIMITER_CLOSED', `the limiter "${this.name}" is closed: it decides nothing any more`)
  }

  // A request that comes again with other tiers is another request.
  #idempotency(operations: readonly Operation[], id: string): Idempotency {
    const name = JSON.stringify([...operations.map(({ limit }) => limit.name), id])
    return { key: encodeSubject({ kind: 'id', name }), ttlMs: this.#parts.idMs }
  }
}
