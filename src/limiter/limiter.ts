import type { Decision } from '../core/decision.ts'
import type { Subject } from '../core/key.ts'
import type { Rule } from '../core/rule.ts'
import type { LimiterEvents } from './events.ts'

/** Options of `consume` and `peek`. */
export interface CostOptions {
  /**
   * How much the request takes, a whole number of at least 1.
   * @default 1
   */
  readonly cost?: number
}

/**
 * Decides for every key whether a request may pass. Wrong arguments reject with a `LimiterError` and change nothing.
 *
 * `charge`, `giveBack`, `block`, `unblock` and `reset` answer with the key's standing: what `peek` says right afterwards.
 */
export interface Limiter extends AsyncDisposable {
  readonly name: string
  readonly rule: Rule
  /** Takes the cost if it passes. A refused request takes nothing, however often it is tried. */
  consume(key: Subject, options?: CostOptions): Promise<Decision>
  /** What `consume` would answer; `remaining` is what is left now. Takes nothing. */
  peek(key: Subject, options?: CostOptions): Promise<Decision>
  /** Takes `amount` even when it is not there: a penalty, or usage that is known only afterwards. Stops at the rule's `maxDebt`. */
  charge(key: Subject, amount?: number): Promise<Decision>
  /** Returns `amount`, for a request that need not count. Never returns more than was taken. */
  giveBack(key: Subject, amount?: number): Promise<Decision>
  /** Refuses the key for `blockMs` from now, 1 ms to 10 years. Replaces an earlier block; counts go on underneath. */
  block(key: Subject, blockMs: number): Promise<Decision>
  /** Ends a block. What the rule has counted stays. */
  unblock(key: Subject): Promise<Decision>
  /** Forgets the key: counts, debt and block. */
  reset(key: Subject): Promise<Decision>
  /** Calls `listener` after each such event, and returns the function that stops it. */
  on<Name extends keyof LimiterEvents>(name: Name, listener: (event: LimiterEvents[Name]) => void): () => void
  /** Ends the limiter: later calls reject with `LIMITER_CLOSED`. A store that was passed in stays open. */
  close(): Promise<void>
}
