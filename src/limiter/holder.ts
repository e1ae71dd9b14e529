import { randomInt } from 'node:crypto'
import { show, wholeNumber } from '../core/check.ts'
import { type Clock, startTimer } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { Asked, Desk } from './desk.ts'
import { readHoldToken, writeHoldToken } from './hold-token.ts'
import { createLease, type Lease } from './lease.ts'
import type { Key } from './limiter.ts'
import { type AmountRule, amountsOf, type Target } from './targets.ts'
import type { Tier } from './tier.ts'
import type { WaitingRoom } from './waiting-room.ts'

const COST: AmountRule = { what: 'cost', least: 1, otherwise: 1 }
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

/** Takes for a time: holds that are settled, and leases that are released. */
export class Holder {
  readonly #desk: Desk
  readonly #room: WaitingRoom
  readonly #tiers: readonly Tier[]
  readonly #clock: Clock | undefined

  constructor(desk: Desk, room: WaitingRoom, tiers: readonly Tier[], clock: Clock | undefined) {
    this.#desk = desk
    this.#room = room
    this.#tiers = tiers
    this.#clock = clock
  }

  async hold(targets: readonly Target[], estimate: unknown, holdMs: number): Promise<Held> {
    demandAmount(estimate, ESTIMATE)
    const id = newId()
    const held = this.#desk.asking(targets, estimate, ESTIMATE, (amount, tier) => {
      return { action: 'hold', amount, id, holdMs: leaseMsOf(tier) ?? holdMs, blockForMs: tier.blockForMs }
    })
    return {
      decision: await this.#desk.ask(held),
      token: () => writeHoldToken({ limiterName: this.#desk.name, key: this.#desk.keyOf(held), estimate, id }),
      ...this.#endings(held, estimate, id),
    }
  }

  /** Finds what a token stands for. Nobody is asked whether it is still held. */
  resume(token: unknown): Resumed {
    this.#desk.demandOpen()
    const { limiterName, key, estimate, id } = readHoldToken(token)
    const { name } = this.#desk
    if (limiterName !== name) {
      const message = `the hold is one of the limiter ${show(limiterName)}, and this is ${show(name)}`
      throw new LimiterError('INVALID_ARGUMENT', message)
    }
    try {
      const holdId = wholeNumber('id', id, 1, LARGEST_ID)
      const held = this.#desk.asking(this.#desk.targets(key), estimate, ESTIMATE, (amount) => {
        return { action: 'settle', id: holdId, amount }
      })
      return { key: key as Key<string>, ...this.#endings(held, estimate, holdId) }
    } catch (error) {
      // The tiers may have changed since, or somebody made it up.
      const { message } = error as Error
      throw new LimiterError('INVALID_ARGUMENT', `the hold is none of this limiter: ${message}`, { cause: error })
    }
  }

  /** @param blockForMsOf for how long a refusal of a tier blocks its key. */
  async lease(
    targets: readonly Target[],
    cost: unknown,
    heartbeat: boolean,
    blockForMsOf: (tier: Tier) => number | undefined = () => undefined,
  ): Promise<Lease> {
    const id = newId()
    const asked = this.#desk.asking(targets, cost, COST, (amount, tier) => {
      const holdMs = leaseMsOf(tier)
      const blockForMs = blockForMsOf(tier)
      if (holdMs === undefined) return { action: 'consume', amount, blockForMs }
      return { action: 'hold', amount, id, holdMs, blockForMs }
    })
    const leased = asked.filter(isLeased)
    const renewals = leased.map((target): Asked => {
      return { ...target, request: { action: 'renew', id, holdMs: Number(leaseMsOf(target.tier)) } }
    })
    const shortestMs = Math.min(...leased.map(({ tier }) => Number(leaseMsOf(tier))))
    return createLease({
      decision: await this.#desk.ask(asked),
      renew: async () => this.#desk.ask(renewals),
      release: () => this.#settle(leased, id, nothing),
      everyMs: heartbeat ? Math.ceil(shortestMs / 3) : undefined,
      timer: (afterMs, ring) => startTimer(this.#clock, afterMs, ring, { keepsAlive: false }),
    })
  }

  #endings(held: readonly Asked[], estimate: unknown, id: number): Endings {
    return {
      settling: (used) => {
        demandAmount(used, USED, typeof estimate === 'object')
        const amounts = amountsOf(this.#tiers, held, used, USED)
        return () =>
          this.#settle(held, id, ({ request }, index) => amounts[index] ?? (request as { amount: number }).amount)
      },
      cancel: () => this.#settle(held, id, nothing),
    }
  }

  async #settle(
    held: readonly Asked[],
    id: number,
    usedOf: (asked: Asked, index: number) => number,
  ): Promise<Decision> {
    const asked = held.map((target, index): Asked => {
      // A place is released, whatever was done there.
      const amount = isLeased(target) ? 0 : usedOf(target, index)
      return { ...target, request: { action: 'settle', id, amount } }
    })
    const decision = await this.#desk.ask(asked)
    this.#room.wake(held)
    return decision
  }
}

function nothing(): number {
  return 0
}

/** Whether a tier is about places. */
export function isLeased({ tier }: Target): boolean {
  return tier.rule.holds === 'leased'
}

/** How long a place of the tier is held; `undefined` where nothing is leased. */
function leaseMsOf({ rule }: Tier): number | undefined {
  return rule.holds === 'leased' ? Number(rule.parameters.leaseMs) : undefined
}

// Told apart among the holds of one key, and exact as a number in every language.
function newId(): number {
  return randomInt(1, LARGEST_ID + 1)
}

function demandAmount(given: unknown, { what, least }: AmountRule, byTier = false): void {
  if (byTier && (typeof given !== 'object' || given === null)) {
    const got = show(given)
    throw new LimiterError('INVALID_ARGUMENT', `${what} must be amounts by tier, as the estimate was, got ${got}`)
  }
  if (given === undefined) {
    throw new LimiterError('INVALID_ARGUMENT', `${what} must be a whole number of at least ${least}, got undefined`)
  }
}
