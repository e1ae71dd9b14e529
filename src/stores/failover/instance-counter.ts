import { randomInt } from 'node:crypto'
import { type Clock, timerNowMs } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import { createOperation, type Operation, type OperationParts, type OperationType } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import { MOST_INSTANCES, PRESENT_MS } from './presence.ts'

const HEARTBEAT_MS = 10_000
/** What lives no longer than this need not be counted. The pauses grow from here: instances mostly start together. */
const FIRST_HEARTBEAT_MS = 1_000
/**
 * How long a store has to count fewer, without forgetting an instance, before that is believed. All others have been heard by then if
 * they are there: a store that was restarted without its data hears of each of them within `PRESENT_MS` and `HEARTBEAT_MS`, and of most in
 * a few seconds.
 */
const DOUBT_MS = 60_000

/** What counting needs. */
export interface InstanceCounterOptions {
  readonly limiter: string
  readonly store: Store
  readonly clock: Clock | undefined
  /** The rule that instances are counted by. */
  readonly presence: Rule
  /** Asks the store for one thing. Rejects when it does not answer in time. */
  ask(operation: Operation): Promise<LimitResult>
}

/**
 * Counts the instances that a limiter has, one for each process, on the store itself: each says every now and then that it is there,
 * along with its decisions, so that there is no timer and who decides nothing is not counted.
 */
export class InstanceCounter {
  /** How many there are: the most that the store has counted, until it has counted fewer for long enough. At first, this one. */
  count = 1
  readonly #options: InstanceCounterOptions
  #limit: Limit | undefined
  #id: number | undefined
  #sentMs: number | undefined
  #pauseMs = FIRST_HEARTBEAT_MS
  #isSending = false
  /** Since when the store counts fewer, and the most of those. */
  #fewer: { readonly sinceMs: number; readonly most: number } | undefined
  #users = 0

  constructor(options: InstanceCounterOptions) {
    this.#options = options
  }

  /** To be called with every decision, at the time by which this limiter measures. */
  heartbeat(nowMs: number): void {
    this.#sentMs ??= nowMs
    const passedMs = nowMs - this.#sentMs
    // A clock that was set back is no reason to wait longer.
    if ((passedMs >= 0 && passedMs < this.#pauseMs) || this.#isSending) return
    this.#sentMs = nowMs
    void this.#sendHeartbeat()
  }

  /** Another limiter of this process counts by it. */
  join(): this {
    this.#users++
    return this
  }

  /** One limiter less. The last one gives the place back. */
  async leave(): Promise<void> {
    this.#users--
    if (this.#users > 0) return
    const id = this.#id
    this.#id = undefined
    if (id !== undefined) await this.#ask('settle', { holdId: id })
  }

  async #sendHeartbeat(): Promise<void> {
    this.#isSending = true
    try {
      const isFirst = this.#id === undefined
      const remembered = await this.#renew()
      const { remaining } = remembered ?? (await this.#hold())
      this.#pauseMs = isFirst ? FIRST_HEARTBEAT_MS : Math.min(2 * this.#pauseMs, HEARTBEAT_MS)
      this.#believe(Math.max(1, MOST_INSTANCES - remaining), remembered !== undefined)
    } catch {
      // What fails is noticed by the decisions too.
      this.#pauseMs = FIRST_HEARTBEAT_MS
    }
    this.#isSending = false
  }

  /** Nothing when the store knows nothing of this instance. */
  async #renew(): Promise<LimitResult | undefined> {
    const id = this.#id
    if (id === undefined) return undefined
    const result = await this.#ask('extend', { holdId: id, holdMs: PRESENT_MS })
    return result.allowed ? result : undefined
  }

  #hold(): Promise<LimitResult> {
    const id = randomInt(1, 2 ** 48 - 1)
    this.#id = id
    return this.#ask('reserve', { amount: 1, holdId: id, holdMs: PRESENT_MS })
  }

  // A store that has forgotten this instance has forgotten the others too, or was without them for long.
  #believe(count: number, isRemembered: boolean): void {
    const nowMs = timerNowMs(this.#options.clock)
    const known = isRemembered ? this.#fewer : undefined
    const fewer = { sinceMs: known?.sinceMs ?? nowMs, most: Math.max(known?.most ?? 0, count) }
    const isBelieved = count >= this.count || nowMs - fewer.sinceMs >= DOUBT_MS
    if (isBelieved) this.count = fewer.most
    this.#fewer = isBelieved ? undefined : fewer
  }

  #ask(type: OperationType, parts: OperationParts): Promise<LimitResult> {
    return this.#options.ask(createOperation({ limit: this.#openLimit(), subject: '', key: '' }, type, parts))
  }

  #openLimit(): Limit {
    if (this.#limit !== undefined) return this.#limit
    const { limiter, store, presence } = this.#options
    // No tier has an empty name.
    const limit = createLimit({ limiter, tier: '', rule: presence })
    store.register(limit)
    this.#limit = limit
    return limit
  }
}

const known = new WeakMap<Store, Map<string, WeakRef<InstanceCounter>>>()

/** Lets a limiter take part in the counting. In one process limiters of one name on one store are one instance: they share what they count. */
export function joinInstances(options: InstanceCounterOptions): InstanceCounter {
  const ofStore = known.get(options.store) ?? new Map<string, WeakRef<InstanceCounter>>()
  known.set(options.store, ofStore)
  const instances = ofStore.get(options.limiter)?.deref() ?? new InstanceCounter(options)
  ofStore.set(options.limiter, new WeakRef(instances))
  return instances.join()
}
