import type { LimitResult } from '../src/core/decision.ts'
import { createLimit, type Limit } from '../src/core/limit.ts'
import { createOperation, type Operation, type OperationParts, type OperationType } from '../src/core/operation.ts'
import type { Rule } from '../src/core/rule.ts'
import type { Idempotency, Store } from '../src/core/store.ts'
import { decide } from '../src/engine/decide.ts'
import type { KeyState, Transition } from '../src/engine/key-state.ts'

/** An operation without its key. */
export type Action = { readonly type: OperationType } & OperationParts

/** A limit in a store, asked past any limiter. */
export interface OpenLimit {
  readonly limit: Limit
  /** Does something to one key, at once where the store answers at once. */
  decide(key: string, action: Action, nowMs: number, rule?: Rule): LimitResult | Promise<LimitResult>
}

/** Registers a limit with a store. */
export function openLimit(store: Store, given: Parameters<typeof createLimit>[0], timeoutMs = 0): OpenLimit {
  const limit = createLimit(given)
  store.register(limit)
  return {
    limit,
    decide(key, action, nowMs, rule) {
      const results = decideCall(store, [operationOn(limit, key, action, rule)], nowMs, undefined, timeoutMs)
      return results instanceof Promise
        ? results.then(([result]) => result as LimitResult)
        : (results[0] as LimitResult)
    },
  }
}

/** An operation on a key of a limit. */
export function operationOn(limit: Limit, key: string, { type, ...parts }: Action, rule?: Rule): Operation {
  return createOperation({ limit, subject: key, key }, type, rule === undefined ? parts : { ...parts, rule })
}

/** An operation on some key, by this rule. */
export function operationBy(rule: Rule, action: Action): Operation {
  return operationOn(createLimit({ limiter: 'any', rule }), 'a', action)
}

/** What the engine says of an action on a key. */
export function decideBy(rule: Rule, stored: KeyState, action: Action, nowMs: number): Transition {
  return decide(operationBy(rule, action), stored, nowMs)
}

/** Lets a store decide, at once where it answers at once. */
export function decideCall(
  store: Store,
  operations: readonly Operation[],
  nowMs: number,
  idempotency?: Idempotency,
  timeoutMs = 0,
): readonly LimitResult[] | Promise<readonly LimitResult[]> {
  let results: readonly LimitResult[] | undefined
  const later = new Promise<readonly LimitResult[]>((done, failed) => {
    results = store.decide({ operations, nowMs, idempotency, timeoutMs }, { done, failed })
  })
  return results ?? later
}
