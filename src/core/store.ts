import type { DecidedBy, Verdict } from './decision.ts'
import type { Rule } from './rule.ts'

/** Keeps the state of keys and promises that each operation on a key is atomic. */
export interface Store {
  /** What decisions report as `decidedBy`. */
  readonly kind: DecidedBy
  /** Opens the keys of one limiter. Opening the same name and kind of rule again reaches the same keys. */
  open(limiterName: string, rule: Rule): Shelf
  /** Frees what the store holds. Optional: a store that holds only memory needs none. */
  close?(): Promise<void>
}

/**
 * One limiter's keys in a store. `key` is an encoded subject; amounts and times were checked by the limiter.
 * `nowMs` is the time of the decision, or `STORE_TIME` for the store's own.
 */
export interface Shelf {
  /** Takes `cost`, or refuses it and leaves everything as it was. */
  consume(key: string, cost: number, nowMs: number): Answer
  /** What `consume` would say. Changes nothing. */
  peek(key: string, cost: number, nowMs: number): Answer
  /** Takes `amount` whatever is left, down to the rule's debt. Answers with what `peek` says afterwards. */
  charge(key: string, amount: number, nowMs: number): Answer
  /** Returns `amount`, never more than was taken. Answers with what `peek` says afterwards. */
  giveBack(key: string, amount: number, nowMs: number): Answer
  /** Refuses the key for `blockMs` from now, whatever the rule says. Replaces an earlier block. */
  block(key: string, blockMs: number, nowMs: number): Answer
  /** Ends a block early. What the rule has counted stays. */
  unblock(key: string, nowMs: number): Answer
  /** Forgets the key: its counts and its block. */
  reset(key: string, nowMs: number): Answer
}

/** Stores that need not wait answer at once. */
export type Answer = Verdict | Promise<Verdict>
