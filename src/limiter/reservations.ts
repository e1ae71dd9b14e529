import { randomInt } from 'node:crypto'
import { show, wholeNumber } from '../core/check.ts'
import { type Clock, startTimer } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import type { Limit } from '../core/limit.ts'
import { LimiterError } from '../core/limiter-error.ts'
import { createOperation, type LimitKey, type Operation } from '../core/operation.ts'
import { readHoldToken, writeHoldToken } from './hold-token.ts'
import { createLease, type Lease } from './lease.ts'
import type { Key } from './limiter.ts'
import { type AmountRule, COST, composeKey, parseAmounts, parseKey, parseOperations } from './parse-call.ts'
import type { WaitQueues } from './wait-queues.ts'

const ESTIMATE: AmountRule = { what: 'estimate', least: 1, otherwise: 1 }
const USED: AmountRule = { what: 'used', least: 0 }
const LARGEST_ID = 2 ** 48 - 2

/** Ends a hold and answers with the key's standing. */
export type Ending = () => Promise<Decision>

/** How to end what was held. */
export interface Endings {
  /** How to end it when so much was used. Throws when that is no amount. */
  settling(used: unknown): Ending
  readonly cancel: Ending
}

/** What was asked to be held, and how to end it. */
export interface Held extends Endings {
  readonly decision: Decision
  /** What it can be resumed by. */
  token(): string
}

/** What was held before, here or elsewhere, and for whom. */
export interface Resumed extends Endings {
  readonly key: Key<string>
}

/** What reservations need of their limiter. */
export interface ReservationHost {
  readonly name: string
  readonly limits: readonly Limit[]
  readonly clock: Clock | undefined
  /** Throws when the limiter has been closed. */
  assertOpen(): void
  run(operations: readonly Operation[]): Decision | Promise<Decision>
}

/** Takes for a time: reservations that are settled, and leases that are released. */
export class Reservations {
  readonly #host: ReservationHost
  readonly #queues: WaitQueues

  constructor(host: ReservationHost, room: WaitQueues) {
    this.#host = host
    this.#queues = room
  }

  async hold(keys: readonly LimitKey[], estimate: unknown, holdMs: number): Promise<Held> {
    const { name, limits } = this.#host
    assertAmount(estimate, ESTIMATE)
    const holdId = newId()
    const held = parseOperations(limits, keys, estimate, ESTIMATE, (key, amount) => {
      const { blockMs } = key.limit
      return createOperation(key, 'reserve', { amount, holdId, holdMs: leaseMsOf(key.limit) ?? holdMs, blockMs })
    })
    return {
      decision: await this.#host.run(held),
      token: () => writeHoldToken({ limiterName: name, key: composeKey(held), estimate, id: holdId }),
      ...this.#endings(held, estimate, holdId),
    }
  }

  /** Finds what a token stands for. The store is not asked whether it is still held. */
  resume(token: unknown): Resumed {
    const { name, limits } = this.#host
    this.#host.assertOpen()
    const { limiterName, key, estimate, id } = readHoldToken(token)
    if (limiterName !== name) {
      const message = `the hold is one of the limiter ${show(limiterName)}, and this is ${show(name)}`
      throw new LimiterError('INVALID_ARGUMENT', message)
    }
    try {
      const holdId = wholeNumber('id', id, 1, LARGEST_ID)
      const held = parseOperations(limits, parseKey(limits, key), estimate, ESTIMATE, (one, amount) => {
        return createOperation(one, 'settle', { amount, holdId })
      })
      return { key: key as Key<string>, ...this.#endings(held, estimate, holdId) }
    } catch (error) {
      // The tiers may have changed since, or the token is made up.
      const { message } = error as Error
      throw new LimiterError('INVALID_ARGUMENT', `the hold is none of this limiter: ${message}`, { cause: error })
    }
  }

  /** @param blocks whether a refusal blocks the key, as its limit says. */
  async lease(keys: readonly LimitKey[], cost: unknown, heartbeat: boolean, blocks: boolean): Promise<Lease> {
    const { limits, clock } = this.#host
    const holdId = newId()
    const operations = parseOperations(limits, keys, cost, COST, (key, amount) => {
      const holdMs = leaseMsOf(key.limit)
      const blockMs = blocks ? key.limit.blockMs : 0
      if (holdMs === undefined) return createOperation(key, 'consume', { amount, blockMs })
      return createOperation(key, 'reserve', { amount, holdId, holdMs, blockMs })
    })
    const leased = operations.filter(isLeased)
    const renewals = leased.map((key) => {
      return createOperation(key, 'extend', { holdId, holdMs: Number(leaseMsOf(key.limit)) })
    })
    const shortestMs = Math.min(...leased.map(({ limit }) => Number(leaseMsOf(limit))))
    return createLease({
      decision: await this.#host.run(operations),
      renew: async () => this.#host.run(renewals),
      release: () => this.#settle(leased, holdId, nothing),
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
      cancel: () => this.#settle(held, holdId, nothing),
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
    const decision = await this.#host.run(operations)
    this.#queues.wake(held)
    return decision
  }
}

function nothing(): number {
  return 0
}

/** Whether a limit is about permits. */
export function isLeased({ limit }: LimitKey): boolean {
  return limit.rule.refunds === 'lease'
}

/** How long a permit of the limit is held; `undefined` where nothing is leased. */
function leaseMsOf({ rule }: Limit): number | undefined {
  return rule.refunds === 'lease' ? Number(rule.parameters.leaseMs) : undefined
}

// Told apart among the holds of one key, and exact as a number in every language.
function newId(): number {
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
