import { invalidOption } from '../../core/check.ts'
import { STORE_TIME, systemClock } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { encodeScope } from '../../core/key.ts'
import { type Limit, refuseUnregistered } from '../../core/limit.ts'
import type { Operation } from '../../core/operation.ts'
import type { Reply, Store, StoreCall } from '../../core/store.ts'
import { decideAll } from '../../engine/decide-all.ts'
import { freshAfterMs, type KeyState, MOST_LAG_MS, type Transition, UNTOUCHED } from '../../engine/key-state.ts'
import { decodeState, encodeState } from './state-text.ts'
import { type DurableObjectStorage, StoredEntries } from './stored-entries.ts'

export type { DurableObjectStorage } from './stored-entries.ts'

/** A store in the storage of a Durable Object. */
export interface DurableObjectStore extends Store {
  readonly name: 'durable-object'
  /** Answers at once. */
  decide(call: StoreCall, reply?: Reply): readonly LimitResult[]
  /** Deletes what has expired: to be called by the `alarm()` of the class. The store sets the alarm. */
  deleteExpired(): void
}

/**
 * Keeps the state in the storage of a Durable Object of Cloudflare, where it outlives the eviction of the object. For limiters inside the
 * object: it decides one call at a time, and so exactly.
 *
 * @param storage `ctx.storage` of a class with SQLite (`new_sqlite_classes`).
 */
export function durableObjectStore(storage: DurableObjectStorage): DurableObjectStore {
  if (typeof storage?.sql?.exec !== 'function') {
    throw invalidOption('storage', 'ctx.storage of a Durable Object with SQLite (new_sqlite_classes)', storage)
  }
  const entries = new StoredEntries(storage)
  const scopes = new WeakMap<Limit, string>()
  const findScope = (limit: Limit): string => scopes.get(limit) ?? refuseUnregistered(limit)
  const read = ({ limit, rule, key }: Operation): KeyState => {
    const text = entries.read(findScope(limit), key)
    return text === undefined ? UNTOUCHED : decodeState(text, rule)
  }
  const keep = ({ limit, key }: Operation, stored: KeyState, transition: Transition, time: CallTime): void => {
    const next = limit.rulesVary ? transition : { ...transition, countedBy: undefined, convertedOnRefusal: undefined }
    if (!hasChanged(stored, next)) return
    if (isUntouched(next)) entries.delete(findScope(limit), key)
    else entries.write(findScope(limit), key, encodeState(next), lifeMs(next, time.nowMs) + time.lagMs)
  }
  const decide = ({ operations, idempotency }: StoreCall, time: CallTime): readonly LimitResult[] => {
    const { nowMs, lagMs } = time
    const first = operations[0] as Operation
    // An idempotency key belongs to the first key of its call. No key contains a space.
    const once = idempotency && `${first.key} ${idempotency.key}`
    const known = once === undefined ? undefined : entries.read(findScope(first.limit), once)
    const admitted = known === undefined ? undefined : (JSON.parse(known) as Admitted)
    if (admitted !== undefined && admitted.untilMs > nowMs) return admitted.results
    const states = operations.map(read)
    const { allowed, transitions } = decideAll(operations, states, nowMs)
    for (const [index, operation] of operations.entries()) {
      keep(operation, states[index] as KeyState, transitions[index] as Transition, time)
    }
    if (!allowed || idempotency === undefined) return transitions
    const { ttlMs } = idempotency
    const results = transitions.map(withoutState)
    const value = JSON.stringify({ untilMs: nowMs + ttlMs, results } satisfies Admitted)
    entries.write(findScope(first.limit), once as string, value, ttlMs + lagMs)
    return transitions
  }
  return {
    name: 'durable-object',
    isLocal: true,
    register: (limit) => void scopes.set(limit, encodeScope(limit)),
    decide: (call) => entries.together(() => decide(call, readTime(call))),
    clear: (limit) => entries.deleteScope(findScope(limit)),
    deleteExpired: () => entries.deleteExpired(),
  }
}

/** The time of a call. */
interface CallTime {
  readonly nowMs: number
  /** How much longer its entries are kept: a clock of the caller's own may step back by so much, and what it needs then is still there. */
  readonly lagMs: number
}

function readTime({ nowMs }: StoreCall): CallTime {
  return nowMs === STORE_TIME ? { nowMs: systemClock.nowMs(), lagMs: 0 } : { nowMs, lagMs: MOST_LAG_MS }
}

/** The results that an idempotency key was first answered with. */
interface Admitted {
  readonly untilMs: number
  readonly results: readonly LimitResult[]
}

function hasChanged(stored: KeyState, next: KeyState): boolean {
  if (stored.state !== next.state || stored.block !== next.block) return true
  if (stored.holds !== next.holds || stored.grants !== next.grants) return true
  const isSameRule = stored.countedBy?.identity === next.countedBy?.identity
  return !isSameRule || stored.convertedOnRefusal !== next.convertedOnRefusal
}

function isUntouched({ state, block, holds, grants }: KeyState): boolean {
  return state === undefined && block === undefined && holds === undefined && grants === undefined
}

/** How long a key counts. A refusal leaves a state that another rule counted as it is: the key lasts as long as that does. */
function lifeMs({ state, countedBy, resetAfterMs }: Transition, nowMs: number): number {
  if (state === undefined || countedBy === undefined) return resetAfterMs
  return Math.max(resetAfterMs, freshAfterMs(countedBy, state, nowMs))
}

function withoutState(transition: Transition): LimitResult {
  const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs } = transition
  return { allowed, remaining, retryAfterMs, resetAfterMs, delayMs, reason, nextAfterMs }
}
