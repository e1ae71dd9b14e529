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
 * `charge`, `refund`, `block`, `unblock` and `reset` return what `peek` returns right afterwards.
 */
export interface Limiter<Tier extends string = never> extends AsyncDisposable {
  readonly name: string
  /** The rules by the names of their tiers; of a limiter of one rule, by its own name. */
  readonly rules: Readonly<Record<string, Rule>>
  /** The names of the limits in shadow mode. */
  readonly shadows: readonly string[]
  /** The names of the limits that decide hot keys from quota that is taken ahead of time. With a store in this process there are none. */
  readonly prefetches: readonly string[]
  /** How the store is doing. A store in this process is always healthy. */
  readonly health: Health
  /** Consumes the cost from every tier, or from none if any tier rejects it. A rejected request takes nothing. */
  consume(key: Key<Tier>, options?: ConsumeOptions<Tier>): Promise<Decision<Tier>>
  /** Answers as `consume` would, and takes nothing. `remaining` is what is left now. */
  peek(key: Key<Tier>, options?: CostOptions<Tier>): Promise<Decision<Tier>>
  /** Takes amounts even beyond the limit: a penalty, or usage that is known only afterwards. Stops at the rule's `maxDebt`. */
  charge(key: Key<Tier>, amounts?: Amounts<Tier>): Promise<Decision<Tier>>
  /** Returns amounts, for a request that need not count. Never returns more than was taken. */
  refund(key: Key<Tier>, amounts?: Amounts<Tier>): Promise<Decision<Tier>>
  /** Takes the estimate if it fits, until you settle or cancel it. An unsettled reservation is refunded after `expiresIn`. */
  reserve(key: Key<Tier>, options: ReserveOptions<Tier>): Promise<Reservation<Tier>>
  /** Continues a reservation by its `token`, from a limiter of this name in any process. Throws for any other text. Does not ask the store. */
  resumeReservation(token: string): OpenReservation<Tier>
  /** Takes a permit of every `concurrency()` rule until you release it, and the cost from every other rule. All of it, or nothing. */
  acquire(key: Key<Tier>, options?: AcquireOptions<Tier>): Promise<Lease<Tier>>
  /** As `consume`, but waits for its turn: first come, first served among the callers of this process. */
  wait(key: Key<Tier>, options?: WaitOptions<Tier>): Promise<Decision<Tier>>
  /** Runs a function when its turn comes, and holds a permit of every `concurrency()` rule while it runs. */
  schedule<Value>(
    key: Key<Tier>,
    run: () => Value | Promise<Value>,
    options?: WaitOptions<Tier>,
  ): Promise<Scheduled<Value, Tier>>
  /** Rejects the key for this long from now, 1 ms to 10 years. An earlier block that ends later stays. Charges and refunds still count. */
  block(key: Key<Tier>, blockFor: Duration, options?: BlockOptions): Promise<Decision<Tier>>
  /** Ends a block. What the rule has counted stays. */
  unblock(key: Key<Tier>): Promise<Decision<Tier>>
  /** Forgets the key: counts, debt, reservations and block. */
  reset(key: Key<Tier>): Promise<Decision<Tier>>
  /** Resolves the rule again at the next request, for one subject or for all of them, instead of when `ruleCache` has passed. */
  forgetRules(subject?: Subject): void
  /** Calls `listener` after each such event, and returns the function that stops it. */
  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void
  /**
   * Ends the limiter: later calls reject with `LIMITER_CLOSED`. Resolves when all running calls have ended, after twice
   * `timeout` at the latest. A store that was passed in stays open.
   */
  close(): Promise<void>
}
