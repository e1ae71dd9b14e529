import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Decision } from '../src/core/decision.ts'
import type { Rule } from '../src/core/rule.ts'
import type { Store } from '../src/core/store.ts'
import { createLimiter, type TiersOptions } from '../src/limiter/create-limiter.ts'
import type { Hold } from '../src/limiter/hold.ts'
import type { Limiter } from '../src/limiter/limiter.ts'
import { memoryStore } from '../src/stores/memory/memory-store.ts'
import { manualClock } from '../src/testing/manual-clock.ts'
import { patient } from './patient.ts'
import { starts } from './schedules.ts'
import { kinds } from './tier-twin.ts'

type Action =
  | 'consume'
  | 'peek'
  | 'charge'
  | 'giveBack'
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

/** A limit: its rule, whether it only watches, and whether it blocks. */
export interface RandomLimit {
  readonly rule: Rule
  readonly shadow: boolean
  readonly blockForMs: number | undefined
}

export const limits: fc.Arbitrary<RandomLimit> = fc.record({
  rule: fc.oneof(...kinds),
  shadow: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  blockForMs: fc.constantFrom(undefined, undefined, undefined, undefined, 1, 60, 1_000),
})

// Mostly what is asked again, so that much is known without asking.
const call: fc.Arbitrary<Call> = fc.record({
  action: fc.oneof(
    { weight: 12, arbitrary: fc.constant<Action>('consume') },
    { weight: 1, arbitrary: fc.constantFrom<Action>('peek', 'charge', 'giveBack', 'block', 'reblock', 'unblock') },
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

/** Plays the calls on a limiter whose denial cache is on, and on one in memory that has none, and throws where they differ. */
export async function expectTwins(
  store: Store,
  name: string,
  limitList: Readonly<Record<string, RandomLimit>>,
  callList: readonly Call[],
  startMs: number,
  compared: Compared,
): Promise<void> {
  const clock = manualClock(startMs)
  const isTiered = Object.keys(limitList).length > 1
  const limiterOn = (used: Store): Limiter<'user' | 'ip'> => {
    const common = { name, store: used, clock, ...patient, denialCacheMs: 1e9 }
    const options = isTiered ? { ...common, tiers: limitList } : { ...common, ...limitList.user }
    return createLimiter(options as TiersOptions<'user' | 'ip'>)
  }
  const memory = memoryStore()
  const [seen, expected] = [
    new Side(limiterOn(store), limiterOn(store)),
    new Side(limiterOn(memory), limiterOn(memory)),
  ]
  const trace: string[] = []
  for (const one of callList) {
    clock.advance(waitMs(one.wait, expected.last))
    const key = isTiered ? { user: `u${one.user}`, ip: `i${one.ip}` } : `u${one.user}`
    trace.push(`${clock.nowMs()} ${JSON.stringify(one)}`)
    const [fromStore, fromMemory] = [await seen.act(one, key), await expected.act(one, key)]
    compared.decisions++
    if (fromStore.decidedBy === 'denial-cache') compared.known++
    const [told, right] = [numbersOf(fromStore, fromStore), numbersOf(fromMemory, fromStore)]
    if (!isDeepStrictEqual(told, right)) {
      expect(told, `${JSON.stringify(limitList)}\n${trace.join('\n')}\n${fromStore.decidedBy}`).toEqual(right)
    }
  }
}

class Side {
  readonly #limiters: readonly Limiter<'user' | 'ip'>[]
  readonly #holds: Hold<'user' | 'ip'>[] = []
  last: Decision | undefined

  constructor(...limiters: readonly Limiter<'user' | 'ip'>[]) {
    this.#limiters = limiters
  }

  async act(one: Call, key: Parameters<Limiter<'user' | 'ip'>['peek']>[0]): Promise<Decision> {
    this.last = await this.#act(this.#limiters[one.isOther ? 1 : 0] as Limiter<'user' | 'ip'>, one, key)
    return this.last
  }

  async #act(limiter: Limiter<'user' | 'ip'>, { action, amount, id }: Call, key: Parameters<typeof limiter.peek>[0]) {
    switch (action) {
      case 'consume':
        return limiter.consume(key, id === undefined ? { cost: amount } : { cost: amount, id: `${id}` })
      case 'peek':
        return limiter.peek(key, { cost: amount })
      case 'charge':
      case 'giveBack':
        return limiter[action](key, amount)
      case 'block':
        return limiter.block(key, 10 * amount)
      case 'reblock':
        return limiter.block(key, 10 * amount, { replace: true })
      case 'unblock':
      case 'reset':
        return limiter[action](key)
      case 'reserve': {
        const hold = await limiter.reserve(key, { estimate: amount, holdMs: 40 * amount })
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

/** All that is said but by whom, and of the tiers those that are named. */
function numbersOf({ decidedBy, tiers, ...numbers }: Decision, named: Decision): unknown {
  const shown = Object.keys(named.tiers) as (keyof typeof tiers)[]
  return { ...numbers, tiers: Object.fromEntries(shown.map((name) => [name, tiers[name]])) }
}
