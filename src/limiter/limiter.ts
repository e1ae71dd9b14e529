import type { Decision } from '../core/decision.ts'
import type { Duration } from '../core/duration.ts'
import type { Subject } from '../core/key.ts'
import type { Rule } from '../core/rule.ts'
import type { Health } from '../core/store.ts'
import type { LimiterEvents } from './events.ts'
import type { Lease } from './lease.ts'
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
import type { OpenReservation, Reservation } from './reservation.ts'

// What `await using` needs, word for word as the library `esnext.disposable` has it: compilers before 5.2 and many projects do not have that.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol
  }
  interface AsyncDisposable {
    [Symbol.asyncDispose](): PromiseLike<void>
  }
}

/**
 * Decides for every key whether a request may pass. Wrong arguments reject with a `LimiterError` and change nothing.
 *
 * `charge`, `refund`, `block`, `unblock` and `reset` answer with the key's standing: what `peek` says right afterwards.
 */
export interface Limiter<Tier extends string = never> extends AsyncDisposable {
  readonly name: string
  /** The rules by the names of their tiers; of a limiter of one rule, by its own name. */
  readonly rules: Readonly<Record<string, Rule>>
  /** The names of the limits that only watch. */
  readonly shadows: readonly string[]
  /** How the store is doing. A store in this process is always healthy. */
  readonly health: Health
  /** Takes the cost if it passes, from all tiers or from none. A refused request takes nothing, however often it is tried. */
  consume(key: Key<Tier>, options?: ConsumeOptions<Tier>): Promise<Decision<Tier>>
  /** What `consume` would answer; `remaining` is what is left now. Takes nothing. */
  peek(key: Key<Tier>, options?: CostOptions<Tier>): Promise<Decision<Tier>>
  /** Takes amounts even when they are not there: a penalty, or usage that is known only afterwards. Stops at the rule's `maxDebt`. */
  charge(key: Key<Tier>, amounts?: Amounts<Tier>): Promise<Decision<Tier>>
  /** Returns amounts, for a request that need not count. Never returns more than was taken. */
  refund(key: Key<Tier>, amounts?: Amounts<Tier>): Promise<Decision<Tier>>
  /** Takes the estimate if it passes, until the use is settled. An unsettled reservation is refunded after `expiresIn`. */
  reserve(key: Key<Tier>, options: ReserveOptions<Tier>): Promise<Reservation<Tier>>
  /** The reservation of a `token` that a limiter of this name gave, in any process, to end it here. Throws when it is none. Does not ask the store. */
  resumeReservation(token: string): OpenReservation<Tier>
  /** Takes a place of every `concurrency()` rule, to be released, and the cost from every other, if all of it passes. */
  acquire(key: Key<Tier>, options?: AcquireOptions<Tier>): Promise<Lease<Tier>>
  /** As `consume`, but waits for its turn: first come, first served among the callers of this process. */
  wait(key: Key<Tier>, options?: WaitOptions<Tier>): Promise<Decision<Tier>>
  /** Runs a function when its turn comes, and holds a place of every `concurrency()` rule while it runs. */
  schedule<Value>(
    key: Key<Tier>,
    run: () => Value | Promise<Value>,
    options?: WaitOptions<Tier>,
  ): Promise<Scheduled<Value, Tier>>
  /** Refuses the key for this long from now, 1 ms to 10 years. An earlier block that ends later stays; counting goes on underneath. */
  block(key: Key<Tier>, blockFor: Duration, options?: BlockOptions): Promise<Decision<Tier>>
  /** Ends a block. What the rule has counted stays. */
  unblock(key: Key<Tier>): Promise<Decision<Tier>>
  /** Forgets the key: counts, debt, holds and block. */
  reset(key: Key<Tier>): Promise<Decision<Tier>>
  /** Resolves the rule again at the next request, for one subject or for all of them, instead of when `ruleCache` has passed. */
  forgetRules(subject?: Subject): void
  /** Calls `listener` after each such event, and returns the function that stops it. */
  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void
  /**
   * Ends the limiter: later calls reject with `LIMITER_CLOSED`. Resolves when everything that was asked has its answer, after twice
   * `timeout` at the latest. A store that was passed in stays open.
   */
  close(): Promise<void>
}
