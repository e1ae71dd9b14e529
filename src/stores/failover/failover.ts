import { nextTurn, readClock, STORE_TIME } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import { createOperation, type Operation } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Health, Idempotency, LayeredStore, LayerOptions, Reply, Store, StoreCall } from '../../core/store.ts'
import { type BreakerListener, classifyFailure } from './circuit-breaker.ts'
import type { LocalStore } from './fallback-limit.ts'
import { type InstanceCounter, joinInstances } from './instance-counter.ts'
import { LocalFallback } from './local-fallback.ts'
import type { PendingWrite } from './replay-log.ts'
import { type CallHost, PendingCall, StoreCalls } from './store-calls.ts'

/** What a failing store needs to be lived with. */
export interface FailoverOptions extends Omit<LayerOptions, 'denialCacheMs' | 'prefetches'> {
  /** Makes the store that decides meanwhile. Limiters on one store share it. */
  createLocal(): LocalStore
  /** The rule that the store counts instances by. */
  readonly presence: Rule
}

/**
 * A store that answers every call in time: by `store`, or when that fails or is left alone, as `onStoreFailure` of each limit says. What it
 * decided itself it writes to the store when that answers again.
 *
 * `close()` waits for what is under way and writes what is owed, by two timeouts at the latest. It leaves `store` open.
 */
export function withFailover(store: Store, options: FailoverOptions): LayeredStore {
  return new Failover(store, options)
}

/** Probes go to keys of no limiter, in several slots of a Cluster. */
const PROBE_KEYS = 16
/** How many keys are replayed to the store at a time: decisions need not wait behind all of them. */
const REPLAYED_AT_ONCE = 250
/** After this number of decisions without the store, the event loop has a turn. */
const BREATH = 64

/** What one limiter does about a store that may fail. */
class Failover implements LayeredStore, BreakerListener, CallHost {
  readonly name: string
  readonly isLocal: boolean
  readonly layers: Store['layers']
  readonly realTime?: boolean
  readonly #calls: StoreCalls
  readonly #store: Store
  readonly #options: FailoverOptions
  readonly #fallback: LocalFallback
  /** By the names of their limiters. */
  readonly #counters = new Map<string, InstanceCounter>()
  #rule: Rule | undefined
  #probeLimit: Limit | undefined
  /** What the store failed at last. */
  #lastFailed: Operation | undefined
  /** How many decisions were made without the store. */
  #decidedHere = 0

  constructor(store: Store, options: FailoverOptions) {
    const { clock, timeoutMs, instances } = options
    this.name = store.name
    this.isLocal = store.isLocal
    this.layers = store.layers
    if (store.realTime !== undefined) this.realTime = store.realTime
    this.#store = store
    this.#options = options
    // A clock that a test moves on does not bring the answer of a server any nearer.
    this.#calls = new StoreCalls(store, timeoutMs, store.realTime === true ? undefined : clock, this)
    this.#fallback = new LocalFallback({
      local: openLocal(store, options),
      clock,
      countInstances: (limiter) => instances ?? this.#counters.get(limiter)?.count ?? 1,
      write: (operation, write) => this.#write(operation, write),
    })
  }

  register(limit: Limit): void {
    const { limiter, rule, onStoreFailure } = limit
    const { clock, instances, presence } = this.#options
    const store = this.#store
    this.#rule ??= rule
    if (instances === undefined && onStoreFailure === 'fallback' && !this.#counters.has(limiter)) {
      const ask = (operation: Operation): Promise<LimitResult> => this.#ask(operation)
      this.#counters.set(limiter, joinInstances({ limiter, store, clock, presence, ask }))
    }
    store.register(limit)
  }

  unregister(limit: Limit): void {
    this.#store.unregister?.(limit)
  }

  trouble(): Error | undefined {
    return this.#store.trouble?.()
  }

  get health(): Health {
    return this.#calls.health
  }

  decide(call: StoreCall, reply: Reply): readonly LimitResult[] | undefined {
    if (this.#calls.breaker.isOpen || (this.#fallback.isUsed && this.#fallback.isHeldHere(call.operations))) {
      const results = this.#decideHere(call, undefined)
      // A caller that asks again and again without a pause must not keep the process from hearing that the store is back.
      if (!this.#needsBreath()) return results
      nextTurn(() => reply.done(results))
      return undefined
    }
    const { operations, nowMs } = call
    const pending = new PendingCall(this.#calls, call, reply, this)
    this.put(pending)
    const counter = this.#counters.get((operations[0] as Operation).limit.limiter)
    counter?.heartbeat(nowMs === STORE_TIME ? pending.begunMs : nowMs)
    return undefined
  }

  get isHeard(): boolean {
    const { events } = this.#options
    return events.has('degraded') || events.has('storeFailed')
  }

  degraded(error: unknown): void {
    this.#options.events.degraded(error)
  }

  recovered(afterMs: number): void {
    this.#options.events.recovered(afterMs)
    this.answered()
  }

  answered(): void {
    // What this limiter cannot write it owes as before, and why it cannot its own decisions tell.
    void this.#replayAll(REPLAYED_AT_ONCE).catch(() => {})
  }

  probe(): Promise<unknown> {
    const key = `${Math.floor(Math.random() * PROBE_KEYS)}`
    const written = this.#ask(createOperation({ limit: this.#openProbe(), subject: key, key }, 'block', { amount: 1 }))
    const failed = this.#lastFailed
    if (failed === undefined) return written
    // Where it failed: a Cluster may be well elsewhere.
    return Promise.all([written, this.#ask(createOperation(failed, 'peek', {}))])
  }

  /** Ends it: what is under way is answered, what is owed is written, by two timeouts at the latest. */
  async close(): Promise<void> {
    await this.#calls.within(2 * this.#options.timeoutMs, this.#finish())
    this.#calls.close()
  }

  put(pending: PendingCall): void {
    const { operations, nowMs } = pending.call
    if (this.#fallback.isUsed && this.#fallback.hasPending(operations)) {
      this.#fallback.replay(operations, nowMs).then(
        () => pending.send(),
        (error: unknown) => pending.failed(error),
      )
    } else pending.send()
  }

  answerInstead(call: StoreCall, reply: Reply, error: unknown): void {
    let results: readonly LimitResult[]
    try {
      results = this.#decideHere(call, error)
    } catch (thrown) {
      reply.failed(thrown)
      return
    }
    if (this.#needsBreath()) nextTurn(() => reply.done(results))
    else reply.done(results)
  }

  /**
   * Decides without the store, as the limits say. Throws where one of them says so, and where what went wrong is no failure of the store.
   *
   * @param error what went wrong; absent: the store was not asked.
   */
  #decideHere(call: StoreCall, error: unknown): readonly LimitResult[] {
    const { events } = this.#options
    const { operations, nowMs } = call
    const isThrown = operations.some(({ limit }) => limit.onStoreFailure === 'throw')
    // An error takes longer to make than a decision, so it is made for those who want it.
    const isWanted = isThrown || events.has('storeFailed')
    const why = error ?? (isWanted && this.#calls.breaker.isOpen ? this.#calls.reason() : undefined)
    if (error !== undefined) this.#lastFailed = operations[0]
    if (why !== undefined) {
      events.storeFailed(why)
      if (isThrown || classifyFailure(why) === 'mistake') throw why
    }
    const results = this.#fallback.decide(call, error !== undefined)
    if (!this.#calls.breaker.isOpen && error === undefined)
      void this.#fallback.replay(operations, nowMs).catch(() => {})
    this.#decidedHere++
    return results
  }

  #needsBreath(): boolean {
    return this.#decidedHere % BREATH === 0
  }

  async #finish(): Promise<void> {
    await this.#calls.idle()
    if (this.#calls.breaker.isOpen) return
    // All at once: there is no decision that would have to wait behind it, and little time.
    const leaving = Array.from(this.#counters.values(), (counter) => counter.leave())
    // What came back last may have led to more.
    await Promise.allSettled([this.#replayAll(Number.POSITIVE_INFINITY), ...leaving, this.#calls.idle()])
  }

  // A charge has an idempotency key, so that it may be written again. Where the store does not take that, it may not.
  async #write(operation: Operation, { once }: PendingWrite): Promise<unknown> {
    if (once === undefined) return this.#ask(operation)
    try {
      return await this.#ask(operation, once.idempotency)
    } catch (error) {
      if (classifyFailure(error) === 'down') throw error
      return this.#ask(operation)
    }
  }

  /** Asks the store for one thing. Rejects with what went wrong, at the timeout at the latest. */
  async #ask(operation: Operation, idempotency?: Idempotency): Promise<LimitResult> {
    const { timeoutMs } = this.#options
    const call = { operations: [operation], nowMs: this.#nowMs(), idempotency, timeoutMs }
    const results = await new Promise<readonly LimitResult[]>((done, failed) => {
      new PendingCall(this.#calls, call, { done, failed }).send()
    })
    return results[0] as LimitResult
  }

  async #replayAll(atOnce: number): Promise<void> {
    await this.#fallback.replayAll(this.#nowMs(), () => !this.#calls.breaker.isOpen, atOnce)
  }

  #openProbe(): Limit {
    if (this.#probeLimit !== undefined) return this.#probeLimit
    // No limiter has an empty name.
    const limit = createLimit({ limiter: '', rule: this.#rule as Rule })
    this.#store.register(limit)
    this.#probeLimit = limit
    return limit
  }

  #nowMs(): number {
    const { clock } = this.#options
    return clock === undefined ? STORE_TIME : readClock(clock)
  }
}

// Limiters of one name share their keys, here as well as there.
const locals = new WeakMap<Store, LocalStore>()

function openLocal(store: Store, { createLocal }: FailoverOptions): LocalStore {
  const local = locals.get(store) ?? createLocal()
  locals.set(store, local)
  return local
}
