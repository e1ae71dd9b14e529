import type { LimitResult } from './decision.ts'
import type { Rule } from './rule.ts'

/** A sequence of calls with results calculated by hand. Every store has to give these answers. */
export interface WorkedExample {
  readonly title: string
  readonly rule: Rule
  readonly turns: readonly ExampleTurn[]
}

/** One call on the example's key at a given time, and the part of the answer that matters. */
export type ExampleTurn = readonly [atMs: number, action: ExampleAction, amount: number, answer: Partial<LimitResult>]

/** `amount` is a cost, a length of time for `block`, and of no meaning for `unblock` and `reset`. */
export type ExampleAction = 'consume' | 'peek' | 'charge' | 'refund' | 'block' | 'unblock' | 'reset'
