import { randomInt } from 'node:crypto'
import { type Clock, readClock, STORE_TIME } from '../../core/clock.ts'
import type { Verdict } from '../../core/decision.ts'
import type { Request } from '../../core/request.ts'
import type { Shelf, Store } from '../../core/store.ts'
import { concurrency } from '../../rules/concurrency/concurrency.ts'
import type { StoreWatch } from './store-watch.ts'

const BEAT_MS = 10_000
/** What lives no longer than this need not be counted. */
const FIRST_BEAT_MS = 1_000
/** An instance that has asked for nothing for so long needs no share. */
const PRESENT_MS = 30_000
const MOST_INSTANCES = 1_000

/** Whoever is at work on a limiter holds a place here, which nobody ever waits for. */
const presence = concurrency({ limit: MOST_INSTANCES, leaseMs: PRESENT_MS })

/** What counting needs. */
export interface InstancesOptions {
  readonly name: string
  readonly store: Store
  readonly clock: Clock | undefined
  readonly watch: StoreWatch
}

/**
 * Counts the instances that a limiter has, one for each process, on the store itself: each says every now and then that it is there,
 * along with its decisions, so that there is no timer and who decides nothing is not counted.
 */
export class Instances {
  /** How many there were when the store last said so. */
  count = 1
  readonly #options: InstancesOptions
  #shelf: Shelf | undefined
  #id: number | undefined
  #nextMs: number | undefined
  #users = 0

  constructor(options: InstancesOptions) {
    this.#options = options
  }

  /** To be called with every decision, at the time by which this limiter measures. */
  beat(nowMs: number): void {
    this.#nextMs ??= nowMs + FIRST_BEAT_MS
    if (nowMs < this.#nextMs) return
    this.#nextMs = nowMs + BEAT_MS
    // What fails is noticed by the decisions too, and comes again with the next beat.
    void this.#sayPresent().catch(() => {})
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
    if (id !== undefined) await this.#ask({ action: 'settle', id, amount: 0 })
  }

  async #sayPresent(): Promise<void> {
    const known = this.#id
    let verdict = known === undefined ? undefined : await this.#ask({ action: 'renew', id: known, holdMs: PRESENT_MS })
    if (verdict?.allowed !== true) {
      const id = randomInt(1, 2 ** 48 - 1)
      this.#id = id
      verdict = await this.#ask({ action: 'hold', amount: 1, id, holdMs: PRESENT_MS })
    }
    this.count = Math.max(1, MOST_INSTANCES - verdict.remaining)
  }

  #ask(request: Request): Promise<Verdict> {
    const { name, store, clock, watch } = this.#options
    // No tier has an empty name.
    this.#shelf ??= store.open({ limiterName: name, tierName: '', rule: presence })
    const shelf = this.#shelf
    const nowMs = clock === undefined ? STORE_TIME : readClock(clock)
    return watch.ask(() => shelf.decide('', request, nowMs, presence))
  }
}

const known = new WeakMap<Store, Map<string, WeakRef<Instances>>>()

/** Lets a limiter take part in the counting. In one process limiters of one name on one store are one instance: they share what they count. */
export function joinInstances(options: InstancesOptions): Instances {
  const ofStore = known.get(options.store) ?? new Map<string, WeakRef<Instances>>()
  known.set(options.store, ofStore)
  const instances = ofStore.get(options.name)?.deref() ?? new Instances(options)
  ofStore.set(options.name, new WeakRef(instances))
  return instances.join()
}
