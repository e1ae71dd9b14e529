import type { Subject } from './key.ts'
import type { Limit } from './limit.ts'
import type { Rule } from './rule.ts'

/** A key of one limit. */
export interface LimitKey {
  readonly limit: Limit
  readonly subject: Subject
  /** The encoded subject. */
  readonly key: string
}

/** The types of operations on a key. */
export type OperationType =
  /** Takes `amount` if it passes. A refusal changes nothing, except that it blocks the key for `blockMs`. */
  | 'consume'
  /** What `consume` would answer. */
  | 'peek'
  /** Takes `amount` whatever is left, down to the rule's debt. */
  | 'charge'
  /** Returns `amount`: the newest that was taken, or what is still counted of what was taken at `takenMs`. */
  | 'refund'
  /**
   * As `consume`, but what was taken comes back after `holdMs` unless the reservation is settled before. Of a leased rule it comes
   * back anyway, and `holdMs` is its lease.
   */
  | 'reserve'
  /**
   * As `consume`, and where that passes the process that asks may get a grant besides: units that it spends without asking, for
   * `holdMs` at most. `grant` says what it wants.
   */
  | 'grant'
  /** Ends a reservation or a grant: of what it took, `amount` was used. Refunds the rest, or takes what was used beyond it. */
  | 'settle'
  /** Lets a reservation last for `holdMs` from now. */
  | 'extend'
  /** Refuses the key for `amount` milliseconds from now. An earlier block that ends later stays, unless this one `replaces` it. */
  | 'block'
  /** Ends a block. What the rule has counted stays. */
  | 'unblock'
  /** Forgets the key: counts, holds and block. */
  | 'reset'

/**
 * One thing to do to one key. Amounts and times are whole numbers that the limiter has checked. All operations have the same shape,
 * so that every path stays monomorphic: `createConsume` and `createOperation` are the only ways to make one.
 */
export interface Operation extends LimitKey {
  readonly type: OperationType
  /** The limit's rule, or what was resolved for this subject. */
  readonly rule: Rule
  /** Cost or amount; milliseconds of a block; units used, of a settle. */
  readonly amount: number
  /** consume, reserve: a refusal blocks the key for this long; 0 never. */
  readonly blockMs: number
  /** reserve, settle, extend, grant; otherwise 0. */
  readonly holdId: number
  /** reserve, extend, grant; otherwise 0. */
  readonly holdMs: number
  /** grant, and the settle of what that brought: a store that does not hear of it counts all of it as spent. Otherwise undefined. */
  readonly grant: GrantRequest | undefined
  /** refund: only of what was taken at this time; otherwise undefined. */
  readonly takenMs: number | undefined
  /** block: whether it ends an earlier block that would end later. */
  readonly replaces: boolean
}

/** What a process wants beside the cost of its request, to decide from later. */
export interface GrantRequest {
  /** The units that it would spend in `holdMs`, the cost of the request among them. At least the cost. */
  readonly want: number
  /** As many of them as it will spend before it may ask again, and how long that is at least. */
  readonly soon: number
  readonly soonMs: number
  /** Its grant before this one, which ends now; 0 without one. */
  readonly endedId: number
  /** The units of that which it has spent. */
  readonly endedUsed: number
}

/** The parts of an operation beyond its type. Absent: 0, false, undefined, the limit's own rule. */
export type OperationParts = Partial<Omit<Operation, 'type' | 'limit' | 'subject' | 'key'>>

/** An operation on a key. */
export function createOperation(
  { limit, subject, key }: LimitKey,
  type: OperationType,
  {
    rule = limit.rule,
    amount = 0,
    blockMs = 0,
    holdId = 0,
    holdMs = 0,
    grant,
    takenMs,
    replaces = false,
  }: OperationParts,
): Operation {
  return { limit, subject, key, type, rule, amount, blockMs, holdId, holdMs, grant, takenMs, replaces }
}

/** An operation that takes `amount`: nearly every one, and so without the parts of others to look at. */
export function createConsume(limit: Limit, subject: Subject, key: string, amount: number, blockMs: number): Operation {
  return {
    limit,
    subject,
    key,
    type: 'consume',
    rule: limit.rule,
    amount,
    blockMs,
    holdId: 0,
    holdMs: 0,
    grant: undefined,
    takenMs: undefined,
    replaces: false,
  }
}

/** Whether an operation takes only what passes: such operations of one call are taken all or none. */
export function isTaking({ type }: Operation): boolean {
  return type === 'consume' || type === 'reserve' || type === 'grant'
}

/** The same question, which takes nothing and blocks no key. */
export function asPeek(operation: Operation): Operation {
  return createOperation(operation, 'peek', { rule: operation.rule, amount: operation.amount })
}
