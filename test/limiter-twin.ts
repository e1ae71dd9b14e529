import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Decision, TierResult } from '../src/core/decision.ts'
import type { Rule } from '../src/core/rule.ts'
import type { Store } from '../src/core/store.ts'
import { createLimiter } from '../src/limiter/create-limiter.ts'
import type { Limiter } from '../src/limiter/limiter.ts'
import type { LimiterOptions, TiersOptions } from '../src/limiter/options.ts'
import type { Reservation } from '../src/limiter/reservation.ts'
import { memoryStore } from '../src/stores/memory/memory-store.ts'
import { manualClock } from '../src/testing/manual-clock.ts'
import { patient } from './patient.ts'
import { starts } from './schedules.ts'
import { kinds } from './tier-twin.ts'

type Action =
  | 'consume'
  | 'peek'
  | 'charge'
  | 'refund'
  | 'block'
  | 'reblock'
  | 'unblock'
  | 'reset'
  | 'reserve'
  | 'settle'

/** One call on a limiter, or on another one of the same name, and how long to wait before it. */
export interface Call {
  readonly action: Action
  readonly amount: number
  readonly user: number
  readonly ip: number
  readonly isOther: boolean
  readonly id: number | undefined
  readonly wait: 'none' | 'one' | 'retry' | 'retry - 1' | number
}

/** A limit: its rule, whether it is in shadow mode, and whether it blocks. */
export interface RandomLimit {
  readonly rule: Rule
  readonly shadow: boolean
  readonly blockFor: number | undefined
}

/** Random limits by rules of one kind. */
export const limitsBy = (rule: fc.Arbitrary<Rule>): fc.Arbitrary<RandomLimit> =>
  fc.record({
    rule,
    shadow: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    blockFor: fc.constantFrom(undefined, undefined, undefined, undefined, 1, 60, 1_000),
  })

/** Random limits by any rule. */
export const limits: fc.Arbitrary<RandomLimit> = limitsBy(fc.oneof(...kinds))

// Mostly what is asked again, so that much is known without asking.
const call: fc.Arbitrary<Call> = fc.record({
  action: fc.oneof(
    { weight: 12, arbitrary: fc.constant<Action>('consume') },
    { weight: 1, arbitrary: fc.constantFrom<Action>('peek', 'charge', 'refund', 'block', 'reblock', 'unblock') },
    { weight: 1, arbitrary: fc.constantFrom<Action>('reset', 'reserve', 'settle', 'settle') },
  ),
  amount: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }) }),
  user: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(1) }),
  ip: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(1) }),
  isOther: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.boolean() }),
  id: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(3) }),
  wait: fc.oneof(
    {
      weight: 9,
      arbitrary: fc.constantFrom<Call['wait']>('none', 'none', 'none', 'none', 'one', 'retry', 'retry - 1'),
    },
    { weight: 1, arbitrary: fc.nat(300) },
  ),
})

/** Each call may be made several times, at once or a little later. */
export const calls: fc.Arbitrary<Call[]> = fc
  .array(fc.tuple(call, fc.nat(5), fc.constantFrom<Call['wait']>('none', 'one', 3)), {
    minLength: 1,
    maxLength: 20,
    size: 'max',
  })
  .map((list) => list.flatMap(([one, more, wait]) => [one, ...Array.from({ length: more }, () => ({ ...one, wait }))]))
export { starts }

/** How many decisions were compared, and how many of them were made without asking the store. */
export interface Compared {
  decisions: number
  known: number
}

/** Two limiters to compare. */
export interface LimiterTwins {
  /** The store of the one; the other is in memory. */
  readonly store: Store
  readonly name: string
  readonly limits: Readonly<Record<string, RandomLimit>>
  /** What both limiters have beyond that. */
  readonly options: Partial<LimiterOptions>
  /** Moves the time that both go by. */
  advance(ms: number): void | Promise<void>
}

/** Limiters by a clock of their caller's that remember refusals for as long as they hold. */
export function byCallersClock(startMs: number): Pick<LimiterTwins, 'options' | 'advance'> {
  const clock = manualClock(startMs)
  return { options: { ...patient, clock, denialCache: 1e9 }, advance: (ms) => clock.advance(ms) }
}

/** Plays the calls on a limiter on the store and on one in memory, which has no layers, and throws where they differ. */
export async function expectTwins(twins: LimiterTwins, callList: readonly Call[], compared: Compared): Promise<void> {
  const memory = memoryStore()
  await using seen = new Side(twins, twins.store)
  await using expected = new Side(twins, memory)
  const trace: string[] = []
  let hasReserved = false
  for (const one of callList) {
    const waitedMs = waitMs(one.wait, expected.last)
    if (waitedMs > 0) await twins.advance(waitedMs)
    const key = isTiered(twins) ? { user: `u${one.user}`, ip: `i${one.ip}` } : `u${one.user}`
    trace.push(`+${waitedMs} ms ${JSON.stringify(one)}`)
    const [fromStore, fromMemory] = [await seen.act(one, key), await expected.act(one, key)]
    compared.decisions++
    if (fromStore.decidedBy === 'denial-cache') compared.known++
    hasReserved ||= one.action === 'reserve'
    const known =
      fromStore.decidedBy === 'denial-cache' && hasReserved ? expectNoLater(fromStore, fromMemory) : fromMemory
    const [told, right] = [numbersOf(fromStore, fromStore), numbersOf(known, fromStore)]
    if (!isDeepStrictEqual(told, right)) {
      expect(told, `${JSON.stringify(twins.limits)}\n${trace.join('\n')}\n${fromStore.decidedBy}`).toEqual(right)
    }
    expect(fromStore.decidedBy).not.toBe('fallback')
  }
}

function isTiered({ limits }: LimiterTwins): boolean {
  return Object.keys(limits).length > 1
}

function createTwin(twins: LimiterTwins, store: Store): Limiter<'user' | 'ip'> {
  const common = { ...twins.options, name: twins.name, store }
  const options = isTiered(twins) ? { ...common, tiers: twins.limits } : { ...common, ...twins.limits.user }
  return createLimiter(options as unknown as TiersOptions<'user' | 'ip'>)
}

/** Two limiters of one name on one store. */
class Side {
  readonly #limiters: readonly Limiter<'user' | 'ip'>[]
  readonly #holds: Reservation<'user' | 'ip'>[] = []
  last: Decision | undefined

  constructor(twins: LimiterTwins, store: Store) {
    this.#limiters = [createTwin(twins, store), createTwin(twins, store)]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#limiters.map((limiter) => limiter.close()))
  }

  async act(one: Call, key: Parameters<Limiter<'user' | 'ip'>['peek']>[0]): Promise<Decision> {
    this.last = await this.#act(this.#limiters[one.isOther ? 1 : 0] as Limiter<'user' | 'ip'>, one, key)
    return this.last
  }

  async #act(limiter: Limiter<'user' | 'ip'>, { action, amount, id }: Call, key: Parameters<typeof limiter.peek>[0]) {
    switch (action) {
      case 'consume':
        return limiter.consume(key, id === undefined ? { cost: amount } : { cost: amount, idempotencyKey: `${id}` })
      case 'peek':
        return limiter.peek(key, { cost: amount })
      case 'charge':
      case 'refund':
        return limiter[action](key, amount)
      case 'block':
        return limiter.block(key, 10 * amount)
      case 'reblock':
        return limiter.block(key, 10 * amount, { replace: true })
      case 'unblock':
      case 'reset':
        return limiter[action](key)
      case 'reserve': {
        const hold = await limiter.reserve(key, { estimate: amount, expiresIn: 40 * amount })
        if (hold.allowed) this.#holds.push(hold)
        return hold.decision
      }
      case 'settle':
        return this.#holds.shift()?.settle(amount) ?? limiter.peek(key)
    }
  }
}

function waitMs(wait: Call['wait'], last: Decision | undefined): number {
  const retryMs = last === undefined || last.retryAfterMs === Number.POSITIVE_INFINITY ? 0 : last.retryAfterMs
  if (typeof wait === 'number') return wait
  return { none: 0, one: 1, retry: retryMs, 'retry - 1': Math.max(0, retryMs - 1) }[wait]
}

/**
 * With reservations `resetAfterMs` says when a key is fresh at the latest, and one that expires may make that sooner than a remembered refusal
 * says. Throws where it would be later, and returns the decision with the times of what was said.
 */
function expectNoLater(said: Decision, asked: Decision): Decision {
  expect(asked.resetAfterMs).toBeLessThanOrEqual(said.resetAfterMs)
  const tiers = Object.entries(asked.tiers as Record<string, TierResult>).map(([name, tier]) => {
    const { resetAfterMs } = (said.tiers as Record<string, TierResult>)[name] ?? tier
    expect(tier.resetAfterMs).toBeLessThanOrEqual(resetAfterMs)
    return [name, { ...tier, resetAfterMs }]
  })
  return { ...asked, resetAfterMs: said.resetAfterMs, tiers: Object.fromEntries(tiers) }
}

/** All that is said but by whom, and of the tiers those that are named. */
function numbersOf({ decidedBy, tiers, ...numbers }: Decision, named: Decision): unknown {
  const shown = Object.keys(named.tiers) as (keyof typeof tiers)[]
  return { ...numbers, tiers: Object.fromEntries(shown.map((name) => [name, tiers[name]])) }
}
