import { knownOptions, milliseconds, show, wholeNumber } from '../core/check.ts'
import type { Decision } from '../core/decision.ts'
import { encodeSubject, type Subject } from '../core/key.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Request } from '../core/request.ts'
import type { Rule } from '../core/rule.ts'
import { demandFlag, demandId } from './call-options.ts'
import { Desk, type DeskOptions } from './desk.ts'
import type { LimiterEvents, Listeners } from './events.ts'
import { createHold, type Hold, type OpenHold, openHold } from './hold.ts'
import { Holder, isLeased } from './holder.ts'
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
import type { Health } from './outage/breaker.ts'
import type { AmountRule, Target } from './targets.ts'
import { Teller, type TellerOptions } from './teller.ts'
import type { Tier } from './tier.ts'
import { WaitingRoom } from './waiting-room.ts'

/** What a limiter is made of. Trusted: `createLimiter` has checked it. */
export interface LimiterParts extends DeskOptions, TellerOptions {
  readonly ownsStore: boolean
  readonly maxWaiting: number
}

const COST: AmountRule = { what: 'cost', least: 1, otherwise: 1 }
const AMOUNT: AmountRule = { what: 'amount', least: 1 }
const NO_OPTIONS = Object.freeze({})
/** How a store in this process is. */
const HEALTHY: Health = Object.freeze({ state: 'healthy', forMs: 0, error: undefined })
const CONSUME_OPTIONS = ['cost', 'id']

/** A limiter of one tier or many. */
export class TieredLimiter implements Limiter<string> {
  readonly name: string
  readonly rules: Readonly<Record<string, Rule>>
  readonly shadows: readonly string[]
  readonly #parts: LimiterParts
  readonly #desk: Desk
  readonly #room: WaitingRoom
  readonly #holder: Holder
  readonly #listeners: Listeners
  readonly #teller: Teller

  constructor(parts: LimiterParts) {
    this.name = parts.name
    this.rules = Object.fromEntries(parts.tiers.map(({ name, rule }) => [name, rule]))
    this.shadows = parts.tiers.filter(({ shadow }) => shadow).map(({ name }) => name)
    this.#parts = parts
    this.#desk = new Desk(parts)
    this.#room = new WaitingRoom(parts.name, parts.maxWaiting, parts.clock)
    this.#holder = new Holder(this.#desk, this.#room, parts.tiers, parts.clock)
    this.#listeners = parts.listeners
    this.#teller = new Teller(parts)
  }

  get health(): Health {
    return this.#parts.outage?.watch.health ?? HEALTHY
  }

  // Not an async function: a decision that is made at once, or by a promise of its own, needs no other.
  consume(key: Key<string>, options: ConsumeOptions<string> = NO_OPTIONS): Promise<Decision> {
    try {
      if (options !== NO_OPTIONS) knownOptions('consume()', options, CONSUME_OPTIONS, 'INVALID_ARGUMENT')
      const { cost, id } = options
      if (id !== undefined) demandId(id)
      const isHeard = this.#listeners.hasAny
      const answer = isHeard ? this.#consumeHeard(key, cost, id) : this.#consume(key, cost, id)
      return answer instanceof Promise ? answer : Promise.resolve(answer)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async peek(key: Key<string>, options: CostOptions<string> = NO_OPTIONS): Promise<Decision> {
    knownOptions('peek()', options, ['cost'], 'INVALID_ARGUMENT')
    return this.#peek(this.#desk.targets(key), options.cost)
  }

  async charge(key: Key<string>, amounts?: Amounts<string>): Promise<Decision> {
    const asked = this.#desk.asking(this.#desk.targets(key), amounts, AMOUNT, (amount) => ({
      action: 'charge',
      amount,
    }))
    const decision = await this.#desk.ask(asked)
    this.#listeners.emit('charged', { key, amount: amounts ?? 1, decision })
    return decision
  }

  async giveBack(key: Key<string>, amounts?: Amounts<string>): Promise<Decision> {
    const decision = await this.#giveBack(this.#desk.targets(key), amounts)
    this.#listeners.emit('givenBack', { key, amount: amounts ?? 1, decision })
    return decision
  }

  async reserve(key: Key<string>, options: ReserveOptions<string>): Promise<Hold<string>> {
    knownOptions('reserve()', options, ['estimate', 'holdMs'], 'INVALID_ARGUMENT')
    const { estimate, holdMs = 60_000 } = options
    milliseconds('holdMs', holdMs, 'INVALID_ARGUMENT')
    const startedMs = this.#teller.startedMs()
    const held = await this.#holder.hold(this.#desk.targets(key), estimate, holdMs)
    this.#teller.decided(key, estimate, held.decision, startedMs)
    return createHold(held, (decision) => this.#listeners.emit('settled', { key, decision }))
  }

  resume(token: string): OpenHold<string> {
    const { key, ...endings } = this.#holder.resume(token)
    return openHold(endings, (decision) => this.#listeners.emit('settled', { key, decision }))
  }

  async acquire(key: Key<string>, options: AcquireOptions<string> = NO_OPTIONS): Promise<Lease> {
    knownOptions('acquire()', options, ['cost', 'heartbeat'], 'INVALID_ARGUMENT')
    const { cost, heartbeat = true } = options
    demandFlag('heartbeat', heartbeat)
    const targets = this.#desk.targets(key)
    if (!targets.some(isLeased)) {
      const message = 'acquire() takes a place of a concurrency() rule, and the key names none: use consume()'
      throw new LimiterError('INVALID_ARGUMENT', message)
    }
    const startedMs = this.#teller.startedMs()
    const lease = await this.#holder.lease(targets, cost, heartbeat, (tier) => tier.blockForMs)
    this.#teller.decided(key, cost, lease.decision, startedMs)
    return lease
  }

  async wait(key: Key<string>, options: WaitOptions<string> = NO_OPTIONS): Promise<Decision> {
    knownOptions('wait()', options, ['cost', 'maxWaitMs', 'signal'], 'INVALID_ARGUMENT')
    const { cost } = options
    const targets = this.#desk.targets(key)
    const asked = this.#desk.asking(targets, cost, COST, (amount) => ({ action: 'consume', amount }))
    const startedMs = this.#teller.startedMs()
    const decision = await this.#room.wait(targets, options, {
      attempt: async () => {
        this.#desk.demandOpen()
        return this.#desk.ask(asked)
      },
      undo: () => this.#giveBack(targets, cost),
      peek: () => this.#peek(targets, cost),
      isBlocked: () => this.#isBlocked(targets),
    })
    return this.#teller.decided(key, cost, decision, startedMs, true)
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
    const { cost } = options
    const targets = this.#desk.targets(key)
    if (!targets.some(isLeased)) {
      const decision = await this.wait(key, options)
      return decision.allowed ? { ran: true, value: await run(), decision } : { ran: false, value: undefined, decision }
    }
    let lease: Lease | undefined
    const startedMs = this.#teller.startedMs()
    const decision = await this.#room.wait(targets, options, {
      attempt: async () => {
        this.#desk.demandOpen()
        lease = await this.#holder.lease(targets, cost, true)
        return lease.decision
      },
      undo: async () => lease?.release(),
      peek: () => this.#peek(targets, cost),
      isBlocked: () => this.#isBlocked(targets),
    })
    this.#teller.decided(key, cost, decision, startedMs, true)
    if (!decision.allowed) return { ran: false, value: undefined, decision }
    await using _ = lease as Lease
    return { ran: true, value: await run(), decision }
  }

  async block(key: Key<string>, blockMs: number, options: BlockOptions = NO_OPTIONS): Promise<Decision> {
    milliseconds('blockMs', blockMs, 'INVALID_ARGUMENT')
    knownOptions('block()', options, ['replace'], 'INVALID_ARGUMENT')
    const { replace } = options
    demandFlag('replace', replace)
    const decision = await this.#askAll(this.#desk.targets(key), { action: 'block', amount: blockMs, replace })
    this.#listeners.emit('blocked', { key, blockMs, decision })
    return decision
  }

  async unblock(key: Key<string>): Promise<Decision> {
    const decision = await this.#askAll(this.#desk.targets(key), { action: 'unblock' })
    this.#listeners.emit('unblocked', { key, decision })
    return decision
  }

  async reset(key: Key<string>): Promise<Decision> {
    const decision = await this.#askAll(this.#desk.targets(key), { action: 'reset' })
    this.#listeners.emit('reset', { key, decision })
    return decision
  }

  forgetPolicy(subject?: Subject): void {
    const key = subject === undefined ? undefined : encodeSubject(subject)
    for (const { policy } of this.#parts.tiers) policy?.forget(key)
  }

  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void {
    return this.#listeners.add(name, listener)
  }

  async close(): Promise<void> {
    const { ownsStore, store, outage, denials, tiers } = this.#parts
    if (!this.#desk.close()) return
    this.#room.close()
    await outage?.close()
    denials?.leave()
    for (const { shelf } of tiers) shelf.close?.()
    if (ownsStore) await store.close?.()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #consume(key: Key<string>, cost: unknown, id: string | undefined): Decision | Promise<Decision> {
    const { only } = this.#desk
    if (only === undefined || id !== undefined) {
      return this.#desk.consume(this.#desk.asking(this.#desk.targets(key), cost, COST, consuming), id)
    }
    const amount = cost === undefined ? 1 : wholeNumber('cost', cost, 1, undefined, 'INVALID_ARGUMENT')
    return this.#desk.consumeOne(only, key as Subject, amount)
  }

  // Apart, so that a decision that nobody hears of pays nothing for it.
  #consumeHeard(key: Key<string>, cost: unknown, id: string | undefined): Decision | Promise<Decision> {
    const startedMs = this.#teller.startedMs()
    const answer = this.#consume(key, cost, id)
    const tell = (decision: Decision): Decision => this.#teller.decided(key, cost, decision, startedMs)
    return answer instanceof Promise ? answer.then(tell) : tell(answer)
  }

  async #peek(targets: readonly Target[], cost: unknown): Promise<Decision> {
    return this.#desk.ask(
      this.#desk.asking(targets, cost, { ...COST, least: 0 }, (amount) => ({ action: 'peek', amount })),
    )
  }

  // Of all that refuse: the reason of a decision is that of the one that does so longest.
  async #isBlocked(targets: readonly Target[]): Promise<boolean> {
    const { reason, tiers } = await this.#peek(targets, 0)
    if (reason === 'blocked') return true
    return Object.entries(tiers).some(([name, tier]) => tier?.reason === 'blocked' && !this.shadows.includes(name))
  }

  async #giveBack(targets: readonly Target[], amounts: unknown): Promise<Decision> {
    const asked = this.#desk.asking(targets, amounts, AMOUNT, (amount) => ({ action: 'giveBack', amount }))
    const decision = await this.#desk.ask(asked)
    this.#room.wake(targets)
    return decision
  }

  async #askAll(targets: readonly Target[], request: Request): Promise<Decision> {
    const decision = await this.#desk.ask(targets.map((target) => ({ ...target, request })))
    this.#room.wake(targets)
    return decision
  }
}

function consuming(amount: number, { blockForMs }: Tier): Request {
  return { action: 'consume', amount, blockForMs }
}
