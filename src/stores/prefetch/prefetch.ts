import { type Clock, nextTurn } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import type { Limit } from '../../core/limit.ts'
import type { LimitKey, Operation } from '../../core/operation.ts'
import type { Decide, Reply, Store, StoreCall, StoreEvents } from '../../core/store.ts'
import { Breath } from './breath.ts'
import { ChangingReply, refundHere } from './changes.ts'
import { Consumes } from './consumes.ts'
import type { HeldGrant } from './held-grant.ts'
import type { KeyRecord } from './key-record.ts'
import { LimitRecords } from './limit-records.ts'
import { readMoment } from './moment.ts'
import { addLeft, PeekReply } from './peek-reply.ts'
import { Returns } from './returns.ts'
import { RoundTrip } from './round-trip.ts'

/** What a process needs to decide from grants. */
export interface PrefetchLayerOptions {
  readonly clock: Clock | undefined
  /** How long the store may take to hear that a grant has ended. */
  readonly timeoutMs: number
  /** For how long a refusal is known at most; 0 asks every time. */
  readonly denialCacheMs: number
  readonly count: StoreEvents['prefetched']
  /** Makes the id of a grant. No two processes may make the same: one would end the other's grant. */
  readonly createId: () => number
  /** @default that of the event loop */
  readonly nextTurn?: (run: () => void) => void
}

/**
 * A store that takes a part of a hot key's quota from `store` ahead of time, and decides from it without asking until that is spent or over. All
 * that passes, each at its time, passes by the rule. Limits without `prefetch` and keys that are not hot are asked about as without it.
 *
 * `close()` gives back what is left, then closes `store`.
 */
export function withPrefetch(store: Store, options: PrefetchLayerOptions): Store {
  const prefetch = new Prefetch(store, options)
  const decide = (call: StoreCall, reply: Reply): readonly LimitResult[] | undefined => prefetch.decide(call, reply)
  return {
    name: store.name,
    isLocal: store.isLocal,
    layers: store.layers,
    ...(store.realTime === true ? { realTime: true } : {}),
    register: (limit) => prefetch.register(limit),
    unregister: (limit) => prefetch.unregister(limit),
    decide: Object.assign(decide, { one: prefetch.decideOne }),
    trouble: () => store.trouble?.(),
    close: () => prefetch.close(),
  }
}

class Prefetch {
  readonly #store: Store
  readonly #options: PrefetchLayerOptions
  readonly #limits = new Map<Limit, LimitRecords>()
  readonly #returns: Returns
  readonly #consumes: Consumes
  readonly #roundTrip = new RoundTrip()

  constructor(store: Store, options: PrefetchLayerOptions) {
    this.#store = store
    this.#options = options
    this.#returns = new Returns({ ...options, store })
    this.#consumes = new Consumes({
      store,
      clock: options.clock,
      limits: this.#limits,
      breath: new Breath(options.nextTurn ?? nextTurn),
      returns: this.#returns,
      roundTrip: this.#roundTrip,
      count: options.count,
    })
  }

  register(limit: Limit): void {
    this.#store.register(limit)
    const { prefetch, rule } = limit
    if (prefetch === undefined || rule.prefetches !== true) return
    const { denialCacheMs, createId, count } = this.#options
    const measureWayMs = (maxMs: number): number => this.#roundTrip.measureWayMs(maxMs)
    const leave = (record: KeyRecord): void => this.#end(record)
    this.#limits.set(limit, new LimitRecords(limit, prefetch, { denialCacheMs, createId, measureWayMs, count }, leave))
  }

  unregister(limit: Limit): void {
    this.#limits.delete(limit)
    this.#store.unregister?.(limit)
  }

  get decideOne(): NonNullable<Decide['one']> {
    return this.#consumes.decideOne
  }

  decide(call: StoreCall, reply: Reply): readonly LimitResult[] | undefined {
    const { operations, idempotency } = call
    // A repeated key is remembered by the store, and counted there.
    if (idempotency !== undefined) return this.#store.decide(call, reply)
    switch ((operations[0] as Operation).type) {
      case 'consume':
        return this.#consumes.decide(call, reply)
      case 'peek':
        return this.#peek(call, reply)
      case 'grant':
        return this.#store.decide(call, reply)
      default:
        return this.#change(call, reply)
    }
  }

  async close(): Promise<void> {
    this.#returns.close()
    for (const records of this.#limits.values()) for (const record of records.all()) this.#end(record)
    await this.#store.close?.()
  }

  /** What is free there, and what is left here. */
  #peek(call: StoreCall, reply: Reply): readonly LimitResult[] | undefined {
    const grants = call.operations.map((operation) => this.#find(operation)?.grant)
    if (grants.every((grant) => grant === undefined)) return this.#store.decide(call, reply)
    const results = this.#store.decide(call, new PeekReply(call, grants, this.#options.clock, reply))
    return results && addLeft(call, grants, results, readMoment(this.#options.clock))
  }

  /** What is not a consume goes to the store: what was known of its keys may not hold any more. */
  #change(call: StoreCall, reply: Reply): readonly LimitResult[] | undefined {
    const { operations } = call
    const records = operations.flatMap((operation) => this.#find(operation) ?? [])
    if (records.length === 0) return this.#store.decide(call, reply)
    for (const record of records) record.forgetAnswers()
    for (const operation of operations) {
      if (operation.type !== 'block' && operation.type !== 'reset') continue
      const record = this.#find(operation)
      if (record !== undefined) this.#end(record)
    }
    const now = readMoment(this.#options.clock)
    const refunds = operations.map((operation) => refundHere(operation, this.#find(operation), now))
    const rest = refunds.flatMap(({ rest }) => rest ?? [])
    if (rest.length === 0) return refunds.map(({ grant }) => (grant as HeldGrant).describe(now))
    const changing = new ChangingReply(refunds, records, this.#options.clock, reply)
    const results = this.#store.decide({ ...call, operations: rest }, changing)
    return results && changing.receive(results)
  }

  /** Ends what a key's record holds or waits for, and tells the store. */
  #end(record: KeyRecord): void {
    record.grantsEpoch++
    const grant = record.endGrant(readMoment(this.#options.clock))
    if (grant !== undefined) this.#returns.send(record.place, grant)
  }

  #find({ limit, key }: LimitKey): KeyRecord | undefined {
    return this.#limits.get(limit)?.find(key)
  }
}
