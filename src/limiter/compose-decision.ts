import { STORE_TIME } from '../core/clock.ts'
import type { Decision, LimitResult, TierResult } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import type { Idempotency, Reply, Store, StoreCall } from '../core/store.ts'

/** What all calls of a limiter have in common. */
interface CallParts {
  /** How long a decision waits for the store. */
  readonly timeoutMs: number
  readonly store: Store
}

/** A call that was checked, and the decision on it if its store makes that later. It makes a promise only when the caller has to wait. */
export class PendingDecision implements StoreCall, Reply {
  operations: readonly Operation[]
  /** Set when the call is decided, where the limiter has a clock. */
  nowMs: number
  readonly idempotency: Idempotency | undefined
  readonly timeoutMs: number
  /** The name of the store. */
  readonly decidedBy: string
  /** What the store said of each operation, once it has. */
  results: readonly LimitResult[]
  #outcome: Decision | Promise<never> | undefined
  /** Settles the promise that the caller waits for. */
  #settle: ((outcome: Decision | Promise<never>) => void) | undefined

  constructor({ timeoutMs, store }: CallParts, operations: readonly Operation[], idempotency?: Idempotency) {
    this.operations = operations
    this.nowMs = STORE_TIME
    this.idempotency = idempotency
    this.timeoutMs = timeoutMs
    this.decidedBy = store.name
    this.results = NO_RESULTS
    this.#outcome = undefined
    this.#settle = undefined
  }

  /** Gives each operation the rule of its subject, where there is one. */
  resolve(rules: readonly (Rule | undefined)[]): void {
    this.operations = this.operations.map((operation, index) => ({
      ...operation,
      rule: rules[index] ?? operation.rule,
    }))
  }

  done(results: readonly LimitResult[]): void {
    this.#outcome = composeDecision(this, results)
    this.#settle?.(this.#outcome)
  }

  failed(error: unknown): void {
    this.#outcome = Promise.reject(error)
    this.#settle?.(this.#outcome)
  }

  /** What the store has said, or will say. */
  outcome(): Decision | Promise<Decision> {
    return (
      this.#outcome ??
      new Promise((settle) => {
        this.#settle = settle
      })
    )
  }
}

const NO_RESULTS: readonly LimitResult[] = Object.freeze([])
const NO_TIERS: Readonly<Record<string, TierResult>> = Object.freeze({})
const NONE: readonly string[] = Object.freeze([])

/** The decision on a call: what the store said of each limit, put together. */
export function composeDecision(call: PendingDecision, results: readonly LimitResult[]): Decision {
  const { operations, decidedBy } = call
  call.results = results
  const operation = operations[0] as Operation
  const result = results[0] as LimitResult
  if (operation.limit.tier === undefined) return composeOne(operation, result, decidedBy)
  return composeTiers(operations, results, result.decidedBy ?? decidedBy)
}

/** The decision of a limiter without tiers. */
export function composeOne(operation: Operation, result: LimitResult, store: string): Decision {
  const { limit } = operation
  const rule = result.rule ?? operation.rule
  const ignored = !result.allowed && limit.shadow
  const allowed = result.allowed || ignored
  const decision = {
    allowed,
    limit: rule.limit,
    remaining: result.remaining,
    retryAfterMs: ignored ? 0 : result.retryAfterMs,
    resetAfterMs: result.resetAfterMs,
    delayMs: result.delayMs,
    limitedBy: allowed ? undefined : limit.name,
    reason: ignored ? undefined : result.reason,
    nextAfterMs: allowed ? (result.nextAfterMs ?? resolveNextMs(result)) : undefined,
    wouldRefuse: ignored && result.reason !== 'reservation-ended' ? [limit.name] : NONE,
    decidedBy: result.decidedBy ?? store,
    tiers: NO_TIERS,
  } as Decision
  if (rule !== limit.rule) noteRules(decision, [operation], [result])
  return decision
}

// Beside the decisions and not in them: they are plain numbers and words, and can be sent anywhere.
const changed = new WeakMap<Decision, Readonly<Record<string, Rule>>>()

/** The rules that a policy or a layer took for this decision instead of the limiter's own, by the names of their limits. */
export function findChangedRules(decision: Decision): Readonly<Record<string, Rule>> | undefined {
  return changed.get(decision)
}

function noteRules(decision: Decision, operations: readonly Operation[], results: readonly LimitResult[]): void {
  const rules: Record<string, Rule> = {}
  for (const [index, { limit, rule: given }] of operations.entries()) {
    const rule = results[index]?.rule ?? given
    if (rule !== limit.rule) rules[limit.name] = rule
  }
  changed.set(decision, rules)
}

function composeTiers(operations: readonly Operation[], results: readonly LimitResult[], decidedBy: string): Decision {
  const tiers: Record<string, TierResult> = {}
  let isAnyCounting = false
  let isSettled = false
  let isAnyChanged = false
  for (let index = 0; index < operations.length; index++) {
    const operation = operations[index] as Operation
    const { limit } = operation
    const result = results[index] as LimitResult
    const rule = result.rule ?? operation.rule
    isAnyChanged ||= rule !== limit.rule
    // The denial cache knows what refuses. What the others have left may have grown.
    if (result.decidedBy !== 'denial-cache' || !result.allowed) tiers[limit.name] = composeTier(rule, result)
    isAnyCounting ||= !limit.shadow
    // A reservation is settled where it counts, even when a permit that went with it has come back before.
    isSettled ||= !limit.shadow && result.allowed && limit.rule.refunds !== 'lease'
  }
  let scarcest = -1
  let longest = -1
  let resetAfterMs = 0
  let delayMs = 0
  let wouldRefuse = NONE
  for (let index = 0; index < operations.length; index++) {
    const { limit } = operations[index] as Operation
    const result = results[index] as LimitResult
    const { allowed, remaining, retryAfterMs, reason } = result
    // A hold that a limit in shadow mode refused was never there, and is not missed.
    if (limit.shadow && !allowed && reason !== 'reservation-ended') wouldRefuse = [...wouldRefuse, limit.name]
    // A limit in shadow mode says nothing of what the others decide, unless there is no other.
    if (limit.shadow && isAnyCounting) continue
    if (scarcest < 0 || remaining < (results[scarcest] as LimitResult).remaining) scarcest = index
    resetAfterMs = Math.max(resetAfterMs, result.resetAfterMs)
    delayMs = Math.max(delayMs, result.delayMs)
    if (limit.shadow || allowed || (isSettled && reason === 'reservation-ended')) continue
    if (longest < 0 || retryAfterMs > (results[longest] as LimitResult).retryAfterMs) longest = index
  }
  const refusal = longest < 0 ? undefined : (results[longest] as LimitResult)
  const scarce = results[scarcest] as LimitResult
  const shown = longest < 0 ? scarcest : longest
  const decision = {
    allowed: refusal === undefined,
    limit: (results[shown]?.rule ?? (operations[shown] as Operation).rule).limit,
    remaining: scarce.remaining,
    retryAfterMs: refusal?.retryAfterMs ?? 0,
    resetAfterMs,
    delayMs: refusal === undefined ? delayMs : 0,
    // A list looks up an index of -1 as a name: that alone took a tenth of the decision.
    limitedBy: longest < 0 ? undefined : (operations[longest] as Operation).limit.name,
    reason: refusal?.reason,
    nextAfterMs: refusal === undefined ? (scarce.nextAfterMs ?? resolveNextMs(scarce)) : undefined,
    wouldRefuse,
    decidedBy,
    tiers,
  } as Decision
  if (isAnyChanged) noteRules(decision, operations, results)
  return decision
}

// A limit in shadow mode that refuses says when this cost passes, which is no later than when nothing is used any more.
function resolveNextMs({ retryAfterMs, resetAfterMs }: LimitResult): number {
  return Math.min(retryAfterMs, resetAfterMs)
}

function composeTier({ limit }: Rule, result: LimitResult): TierResult {
  const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs } = result
  return { allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs }
}
