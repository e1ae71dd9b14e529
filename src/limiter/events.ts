import { invalidOption, oneOf } from '../core/check.ts'
import { type Clock, exactTimerNowMs } from '../core/clock.ts'
import type { Decision, TierResult } from '../core/decision.ts'
import type { Subject } from '../core/key.ts'
import type { PrefetchCount } from '../core/store.ts'
import type { Amounts, Key } from './options.ts'

/** The events of a limiter and their fields. Keys and amounts are as they were given. */
export interface LimiterEvents {
  /** `consume`, `reserve`, `acquire`, `wait` or `schedule` got a decision. */
  readonly decided: Decided
  /** One of them was rejected. */
  readonly refused: Decided
  /**
   * One of them was allowed, and brought a limit from below `nearLimitAt` to it or over it. Once for each such limit, also in
   * shadow mode.
   */
  readonly nearLimit: Crossing & { readonly key: Key<string>; readonly decision: Decision }
  readonly charged: { readonly key: Key<string>; readonly amount: Amounts<string>; readonly decision: Decision }
  readonly refunded: { readonly key: Key<string>; readonly amount: Amounts<string>; readonly decision: Decision }
  /** A reservation was settled or cancelled, or had ended before. */
  readonly settled: { readonly key: Key<string>; readonly decision: Decision }
  readonly blocked: { readonly key: Key<string>; readonly blockMs: number; readonly decision: Decision }
  readonly unblocked: { readonly key: Key<string>; readonly decision: Decision }
  readonly reset: { readonly key: Key<string>; readonly decision: Decision }
  /** `resolveRule` threw, took too long or returned no rule of the right kind. The last known rule stays in force. */
  readonly resolveRuleFailed: { readonly subject: Subject; readonly tier: string; readonly error: unknown }
  /** The store did not make a decision, and `onStoreFailure` did. */
  readonly storeFailed: { readonly error: unknown }
  /** The circuit breaker opened: the store failed several times, or did not answer in time. */
  readonly degraded: { readonly error: unknown }
  /** The store answers again. */
  readonly recovered: { readonly afterMs: number }
  /** Something happened to the units that a limit with `prefetch` has taken ahead of time. */
  readonly prefetched: { readonly tier: string; readonly what: PrefetchCount; readonly units: number }
}

/** A call that was answered. */
interface Decided {
  readonly key: Key<string>
  readonly cost: Amounts<string>
  readonly decision: Decision
  /** From the call to the answer, in milliseconds with fractions. */
  readonly tookMs: number
  /** Whether the call was one that waits for its turn, `wait` or `schedule`: most of `tookMs` may be that. */
  readonly waited: boolean
}

/** A limit that a request brought near its end. */
interface Crossing {
  readonly tier: string
  /** What the request took of it. */
  readonly cost: number
  /** The share of the limit that is in use now, at most 1. */
  readonly usedShare: number
}

const NAMES = [
  'decided',
  'refused',
  'nearLimit',
  'charged',
  'refunded',
  'settled',
  'blocked',
  'unblocked',
  'reset',
  'resolveRuleFailed',
  'storeFailed',
  'degraded',
  'recovered',
  'prefetched',
] as const

type Listener = (event: never) => void

/** What events of decisions are made with. */
export interface ListenersOptions {
  readonly name: string
  readonly clock: Clock | undefined
  readonly nearLimitAt: number
}

/** The listeners of one limiter. Costs nothing while there are none. */
export class Listeners {
  readonly #options: ListenersOptions
  readonly #byName = new Map<keyof LimiterEvents, readonly Listener[]>()
  /** Whether there is a listener to anything. */
  hasAny = false

  constructor(options: ListenersOptions) {
    this.#options = options
  }

  /** Adds a listener and returns the function that removes it. */
  add<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void {
    oneOf('event', name, NAMES)
    if (typeof listener !== 'function') throw invalidOption('listener', 'a function', listener)
    const entry: Listener = (event) => listener(event)
    this.#byName.set(name, [...this.#find(name), entry])
    this.hasAny = true
    return () => {
      const others = this.#find(name).filter((other) => other !== entry)
      if (others.length === 0) this.#byName.delete(name)
      else this.#byName.set(name, others)
      this.hasAny = this.#byName.size > 0
    }
  }

  /** Whether `name` has a listener: ask before making an event. */
  has(name: keyof LimiterEvents): boolean {
    return this.#byName.has(name)
  }

  /** Calls the listeners. What one of them throws changes no decision: it surfaces as an uncaught exception of its own. */
  emit<Name extends keyof LimiterEvents>(name: Name, event: LimiterEvents[Name]): void {
    for (const listener of this.#find(name)) {
      try {
        listener(event as never)
      } catch (error) {
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }

  /** When a call began; `undefined` without a listener. */
  startedMs(): number | undefined {
    return this.hasAny ? exactTimerNowMs(this.#options.clock) : undefined
  }

  /** A call that began at `startedMs` was answered. Returns the decision. */
  decided(key: Key<string>, amounts: unknown, decision: Decision, startedMs?: number, waited = false): Decision {
    if (startedMs === undefined) return decision
    const { name, clock, nearLimitAt } = this.#options
    const cost = (amounts ?? 1) as Amounts<string>
    const event = { key, cost, decision, tookMs: Math.max(0, exactTimerNowMs(clock) - startedMs), waited }
    this.emit('decided', event)
    if (!decision.allowed) this.emit('refused', event)
    else if (this.has('nearLimit')) {
      for (const crossing of findCrossings(name, decision, cost, nearLimitAt)) {
        this.emit('nearLimit', { key, decision, ...crossing })
      }
    }
    return decision
  }

  #find(name: keyof LimiterEvents): readonly Listener[] {
    return this.#byName.get(name) ?? []
  }
}

/** The limits of which an admitted request took the part that makes their used share reach `at`. Nothing is remembered for it. */
function findCrossings(limiterName: string, decision: Decision, costs: Amounts<string>, at: number): Crossing[] {
  const results: [string, TierResult][] = Object.entries(decision.tiers as Record<string, TierResult>)
  // The one rule of a limiter without tiers, unless it is in shadow mode and has not counted the request.
  if (results.length === 0 && decision.wouldRefuse.length === 0) results.push([limiterName, decision])
  const found: Crossing[] = []
  for (const [tier, { allowed, limit, remaining }] of results) {
    const cost = typeof costs === 'number' ? costs : (costs[tier] ?? 1)
    const used = limit - remaining
    // Divided, not multiplied: 7 of 100 is 0.07, but 0.07 of 100 is more than 7.
    if (allowed && used / limit >= at && (used - cost) / limit < at) found.push({ tier, cost, usedShare: used / limit })
  }
  return found
}
