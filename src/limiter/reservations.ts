import { randomInt } from 'node:crypto'
import { knownOptions, milliseconds, show, wholeNumber } from '../core/check.ts'
import { type Clock, startTimer } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import type { Limit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { createOperation, type LimitKey, type Operation } from '../core/operation.ts'
import type { DecisionEvents } from './events.ts'
import { createHold, type Endings, type Hold, type OpenHold, openHold, readHoldToken, writeHoldToken } from './hold.ts'
import { createLease, type Lease } from './lease.ts'
import type { AcquireOptions, Key, ReserveOptions } from './options.ts'
import { type AmountRule, assertFlag, COST, composeKey, parseAmounts, parseOperations } from './parse-call.ts'

const ESTIMATE: AmountRule = { what: 'estimate', least: 1, otherwise: 1 }
const USED: AmountRule = { what: 'used', least: 0 }
const LARGEST_ID = 2 ** 48 - 2

/** What reservations need of their limiter. */
export interface ReservationHost {
  readonly name: string
  readonly limits: readonly Limit[]
  readonly clock: Clock | undefined
  readonly events: DecisionEvents
  /** Throws when the limiter has been closed. */
  assertOpen(): void
  parseKey(key: unknown): readonly LimitKey[]
  decide(operations: readonly Operation[]): Decision | Promise<Decision>
  /** Something of these keys was given back. */
  wake(keys: readonly LimitKey[]): void
}

/** Takes for a time: reservations that are settled, and leases that are released. */
export class Reservations {
  readonly #host: ReservationHost

  constructor(host: ReservationHost) {
    this.#host = host
  }

  async reserve(key: Key<string>, options: ReserveOptions<string>): Promise<Hold<string>> {
    knownOptions('reserve()', options, ['estimate', 'holdMs'], 'INVALID_ARGUMENT')
    const { estimate, holdMs = 60_000 } = options
    milliseconds('holdMs', holdMs, 'INVALID_ARGUMENT')
    const { name, limits, events } = this.#host
    const startedMs = events.startedMs()
    const keys = this.#host.parseKey(key)
    assertAmount(estimate, ESTIMATE)
    const holdId = createId()
    const held = parseOperations(limits, keys, estimate, ESTIMATE, (one, amount) => {
      const { blockMs } = one.limit
      return createOperation(one, 'reserve', { amount, holdId, holdMs: readLeaseMs(one.limit) ?? holdMs, blockMs })
    })
    const decision = await this.#host.decide(held)
    events.decided(key, estimate, decision, startedMs)
    const token = (): string => {
      return writeHoldToken({ limiterName: name, key: composeKey(held), estimate, id: holdId })
    }
    return createHold({ decision, token, ...this.#endings(held, estimate, holdId) }, (answer) => {
      events.listeners.emit('settled', { key, decision: answer })
    })
  }

  /** The hold of a token. The store is not asked whether it is still held. */
  resume(token: unknown): OpenHold<string> {
    const { name, limits, events } = this.#host
    this.#host.assertOpen()
    const { limiterName, key, estimate, id } = readHoldToken(token)
    if (limiterName !== name) {
      const message = `the hold is one of the limiter ${show(limiterName)}, and this is ${show(name)}`
      throw new LimiterError('INVALID_ARGUMENT', message)
    }
    try {
      const holdId = wholeNumber('id', id, 1, LARGEST_ID)
      const held = parseOperations(limits, this.#host.parseKey(key), estimate, ESTIMATE, (one, amount) => {
        return createOperation(one, 'settle', { amount, holdId })
      })
      return openHold(this.#endings(held, estimate, holdId), (decision) => {
        events.listeners.emit('settled', { key: key as Key<string>, decision })
      })
    } catch (error) {
      // The tiers may have changed since, or the token is made up.
      const { message } = error as Error
      throw new LimiterError('INVALID_ARGUMENT', `the hold is none of this limiter: ${message}`, { cause: error })
    }
  }

  async acquire(key: Key<string>, options: AcquireOptions<string>): Promise<Lease> {
    knownOptions('acquire()', options, ['cost', 'heartbeat'], 'INVALID_ARGUMENT')
    const { cost, heartbeat = true } = options
    assertFlag('heartbeat', heartbeat)
    const keys = this.#host.parseKey(key)
    if (!keys.some(isLeased)) {
      const message = 'acquire() takes a place of a concurrency() rule, and the key names none: use consume()'
      throw new LimiterError('INVALID_ARGUMENT', message)
    }
    const { events } = this.#host
    const startedMs = events.startedMs()
    const lease = await this.lease(keys, cost, heartbeat, true)
    events.decided(key, cost, lease.decision, startedMs)
    return lease
  }

  /** @param blocks whether a refusal blocks the key, as its limit says. */
  async lease(keys: readonly LimitKey[], cost: unknown, heartbeat: boolean, blocks: boolean): Promise<Lease> {
    const { limits, clock } = this.#host
    const holdId = createId()
    const operations = parseOperations(limits, keys, cost, COST, (key, amount) => {
      const holdMs = readLeaseMs(key.limit)
      const blockMs = blocks ? key.limit.blockMs : 0
      if (holdMs === undefined) return createOperation(key, 'consume', { amount, blockMs })
      return createOperation(key, 'reserve', { amount, holdId, holdMs, blockMs })
    })
    const leased = operations.filter(isLeased)
    const renewals = leased.map((key) => {
      return createOperation(key, 'extend', { holdId, holdMs: Number(readLeaseMs(key.limit)) })
    })
    const shortestMs = Math.min(...leased.map(({ limit }) => Number(readLeaseMs(limit))))
    return createLease({
      decision: await this.#host.decide(operations),
      renew: async () => this.#host.decide(renewals),
      release: () => this.#settle(leased, holdId, useNothing),
      everyMs: heartbeat ? Math.ceil(shortestMs / 3) : undefined,
      timer: (afterMs, ring) => startTimer(clock, afterMs, ring, { keepsAlive: false }),
    })
  }

  #endings(held: readonly Operation[], estimate: unknown, holdId: number): Endings {
    return {
      settling: (used) => {
        assertAmount(used, USED, typeof estimate === 'object')
        const amounts = parseAmounts(this.#host.limits, held, used, USED)
        return () => this.#settle(held, holdId, ({ amount }, index) => amounts[index] ?? amount)
      },
      cancel: () => this.#settle(held, holdId, useNothing),
    }
  }

  async #settle(
    held: readonly Operation[],
    holdId: number,
    countUsed: (operation: Operation, index: number) => number,
  ): Promise<Decision> {
    const operations = held.map((operation, index) => {
      // A permit is released, whatever was done with it.
      const amount = isLeased(operation) ? 0 : countUsed(operation, index)
      return createOperation(operation, 'settle', { amount, holdId })
    })
    const decision = await this.#host.decide(operations)
    this.#host.wake(held)
    return decision
  }
}

function useNothing(): number {
  return 0
}

/** Whether a limit is about permits. */
export function isLeased({ limit }: LimitKey): boolean {
  return limit.rule.refunds === 'lease'
}

/** How long a permit of the limit is held; `undefined` where nothing is leased. */
function readLeaseMs({ rule }: Limit): number | undefined {
  return rule.refunds === 'lease' ? Number(rule.parameters.leaseMs) : undefined
}

// Told apart among the holds of one key, and exact as a number in every language.
function createId(): number {
  return randomInt(1, LARGEST_ID + 1)
}

function assertAmount(given: unknown, { what, least }: AmountRule, byTier = false): void {
  if (byTier && (typeof given !== 'object' || given === null)) {
    const got = show(given)
    throw new LimiterError('INVALID_ARGUMENT', `${what} must be amounts by tier, as the estimate was, got ${got}`)
  }
  if (given === undefined) {
    throw new LimiterError('INVALID_ARGUMENT', `${what} must be a whole number of at least ${least}, got undefined`)
  }
}
