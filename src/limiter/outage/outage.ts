import { type Clock, readClock, STORE_TIME } from '../../core/clock.ts'
import type { Request } from '../../core/request.ts'
import type { Rule } from '../../core/rule.ts'
import type { Memo, Shelf, Store } from '../../core/store.ts'
import type { Asked } from '../desk.ts'
import type { Listeners } from '../events.ts'
import type { Tier } from '../tier.ts'
import type { Member } from './breaker.ts'
import type { FailureSettings } from './failure-options.ts'
import { type DecidedHere, Fallback } from './fallback.ts'
import { type Instances, joinInstances } from './instances.ts'
import { CHARGE_MS, type Saying } from './owed.ts'
import { kindOfFailure } from './store-failure.ts'
import { StoreWatch } from './store-watch.ts'

/** What a limiter says of its store. */
export interface OutageOptions extends FailureSettings {
  readonly name: string
  readonly store: Store
  readonly tiers: readonly Tier[]
  readonly clock: Clock | undefined
  readonly listeners: Listeners
}

/** Probes go to keys of no limiter, in several slots of a Cluster. */
const PROBE_KEYS = 16
const WRITE: Request = { action: 'block', amount: 1 }
const LOOK: Request = { action: 'peek', amount: 0 }
/** Of so many keys is said at a time what they owe, so that decisions need not wait behind all of them. */
const PAYING_AT_ONCE = 250

/** What a limiter does about a store that may fail: when to ask it, and what to do without it. */
export class Outage implements Member {
  readonly watch: StoreWatch
  readonly #options: OutageOptions
  readonly #fallback: Fallback
  readonly #instances: Instances | undefined
  #probe: Shelf | undefined
  /** What the store failed at last. */
  #lastFailed: Asked | undefined

  constructor(options: OutageOptions) {
    const { name, store, tiers, clock, deadlineMs, instances } = options
    this.#options = options
    // A clock that a test moves on does not bring the answer of a server any nearer.
    this.watch = new StoreWatch(store, deadlineMs, store.realTime === true ? undefined : clock, this)
    const isSharing = instances === undefined && tiers.some(({ onStoreFailure }) => onStoreFailure === 'fallback')
    this.#instances = isSharing ? joinInstances({ name, store, clock, watch: this.watch }) : undefined
    this.#fallback = new Fallback({
      name,
      store,
      clock,
      instances: () => instances ?? this.#instances?.count ?? 1,
      say: (tier, key, saying, rule) => this.#say(tier, key, saying, rule),
    })
  }

  /** To be called with every decision that the store is asked for. */
  beat(nowMs: number): void {
    this.#instances?.beat(nowMs)
  }

  /** Whether a question need not be put to the store: nobody can answer there, or the answer is here. */
  isHere(asked: readonly Asked[]): boolean {
    return !this.watch.isAsking || asked.some(({ request }) => this.#fallback.isHeldHere(request))
  }

  /**
   * Decides without the store, as the policies of the tiers say. Throws where one of them says so, and where what went wrong is no
   * failure of the store.
   *
   * @param error what went wrong; absent: the store was not asked.
   */
  decide(
    asked: readonly Asked[],
    rules: readonly Rule[],
    nowMs: number,
    memo: Memo | undefined,
    error: unknown,
  ): DecidedHere {
    const { listeners } = this.#options
    const isThrown = asked.some(({ tier }) => tier.onStoreFailure === 'throw')
    // An error takes longer to make than a decision, so it is made for those who want it.
    const isTold = isThrown || listeners.has('storeFailed')
    const why = error ?? (isTold && !this.watch.isAsking ? this.watch.reason() : undefined)
    if (error !== undefined) this.#lastFailed = asked[0]
    if (why !== undefined) {
      listeners.emit('storeFailed', { error: why })
      if (isThrown || kindOfFailure(why) === 'mistake') throw why
    }
    const decided = this.#fallback.decide(asked, rules, nowMs, memo, error !== undefined)
    if (this.watch.isAsking && error === undefined) void this.#fallback.pay(asked, nowMs).catch(() => {})
    return decided
  }

  /** Says to the store what these keys owe it since it was gone, and rejects when that fails. Nothing when they owe nothing. */
  pay(asked: readonly Asked[], nowMs: number): Promise<void> | undefined {
    return this.#fallback.owes(asked) ? this.#fallback.pay(asked, nowMs) : undefined
  }

  /** Whether keys of a tier may owe something. */
  owes(tier: Tier): boolean {
    return this.#fallback.owes([{ tier }])
  }

  get isHeard(): boolean {
    const { listeners } = this.#options
    return listeners.has('degraded') || listeners.has('storeFailed')
  }

  degraded(error: unknown): void {
    this.#options.listeners.emit('degraded', { error })
  }

  recovered(afterMs: number): void {
    this.#options.listeners.emit('recovered', { afterMs })
    this.answered()
  }

  answered(): void {
    // What this limiter cannot say, it owes as before, and why it cannot its own decisions tell.
    void this.#payAll(PAYING_AT_ONCE).catch(() => {})
  }

  probe(): Promise<unknown> {
    const { store, tiers, deadlineMs } = this.#options
    const { rule } = tiers[0] as Tier
    // No limiter has an empty name.
    const shelf = this.#probe ?? store.open({ limiterName: '', rule, deadlineMs })
    this.#probe = shelf
    const key = `${Math.floor(Math.random() * PROBE_KEYS)}`
    const written = this.watch.ask(() => shelf.decide(key, WRITE, this.#nowMs(), rule))
    const failed = this.#lastFailed
    if (failed === undefined) return written
    // Where it failed: a Cluster may be well elsewhere.
    const read = this.watch.ask(() => failed.tier.shelf.decide(failed.key, LOOK, this.#nowMs(), failed.tier.rule))
    return Promise.all([written, read])
  }

  /** Ends it: what is under way is answered, what is owed is said, by two deadlines at the latest. */
  async close(): Promise<void> {
    await this.watch.within(2 * this.#options.deadlineMs, this.#finish())
    this.watch.close()
  }

  async #finish(): Promise<void> {
    await this.watch.idle()
    if (!this.watch.isAsking) return
    // All at once: there is no decision that would have to wait behind it, and little time.
    await Promise.allSettled([this.#payAll(Number.POSITIVE_INFINITY), this.#instances?.leave()])
  }

  // A charge has an id, so that it may be said again. Where the store does not take that, it may not.
  async #say(tier: Tier, key: string, { request, once }: Saying, rule: Rule): Promise<unknown> {
    const plainly = (): Promise<unknown> => this.watch.ask(() => tier.shelf.decide(key, request, this.#nowMs(), rule))
    if (once === undefined) return plainly()
    const order = { shelf: tier.shelf, key, request, rule, shadow: false }
    const memo = { id: once.id, ms: CHARGE_MS }
    try {
      return await this.watch.ask(() => this.#options.store.decideTogether([order], this.#nowMs(), memo))
    } catch (error) {
      if (kindOfFailure(error) === 'down') throw error
      return plainly()
    }
  }

  async #payAll(atOnce: number): Promise<void> {
    await this.#fallback.payAll(this.#nowMs(), () => this.watch.isAsking, atOnce)
  }

  #nowMs(): number {
    const { clock } = this.#options
    return clock === undefined ? STORE_TIME : readClock(clock)
  }
}
