import type { LimitResult } from '../src/core/decision.ts'
import { createLimit, type Limit } from '../src/core/limit.ts'
import { NoAnswer } from '../src/core/no-answer.ts'
import { createOperation, type Operation, type OperationParts, type OperationType } from '../src/core/operation.ts'
import type { Rule } from '../src/core/rule.ts'
import type { Idempotency, Reply, Store } from '../src/core/store.ts'
import { type Timed, Timeouts } from '../src/core/timeouts.ts'
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

/** Lets a store decide, at once where it answers at once. Gives up after the timeout, unless it is too busy to notice. */
export function decideCall(
  store: Store,
  operations: readonly Operation[],
  nowMs: number,
  idempotency?: Idempotency,
  timeoutMs = 0,
  givesUp: boolean = timeoutMs > 0,
): readonly LimitResult[] | Promise<readonly LimitResult[]> {
  let results: readonly LimitResult[] | undefined
  const later = new Promise<readonly LimitResult[]>((done, failed) => {
    const reply = givesUp ? new TimedReply(done, failed, timeoutMs) : { done, failed }
    results = store.decide({ operations, nowMs, idempotency, timeoutMs }, reply)
  })
  return results ?? later
}

/** Gives up after the timeout, and leaves it to the store to say so. */
class TimedReply implements Reply, Timed {
  dueMs = 0
  isOver = false
  readonly done: Reply['done']
  readonly failed: Reply['failed']
  readonly #timeouts: Timeouts
  #cancel: ((reason: Error) => void) | undefined

  constructor(done: Reply['done'], failed: Reply['failed'], timeoutMs: number) {
    this.#timeouts = new Timeouts(timeoutMs, undefined)
    this.done = (results) => {
      this.#timeouts.end(this)
      done(results)
    }
    this.failed = (error) => {
      this.#timeouts.end(this)
      failed(error)
    }
    this.#timeouts.add(this)
  }

  onTimeout(cancel: (reason: Error) => void): void {
    this.#cancel = cancel
  }

  expire(): void {
    this.#cancel?.(new NoAnswer(`no answer within ${this.#timeouts.deadlineMs} ms`))
  }
}
