import { createLimit, type Limit, type PrefetchTerms } from '../core/limit.ts'
import { createOperation } from '../core/operation.ts'
import type { PrefetchCount, Reply, Store } from '../core/store.ts'
import { withDenialCache } from '../stores/denial-cache.ts'
import { withPrefetch } from '../stores/prefetch/prefetch.ts'
import { randomFrom } from './random.ts'
import { SimulatedServer } from './simulated-server.ts'
import type { Arrival, Contestant } from './simulation.ts'
import { driftingClock, VirtualTime } from './virtual-time.ts'

/** What limiters do when nothing else is said. */
const DENIAL_CACHE_MS = 1_000
/** Longer than any answer is under way, and any grant is held. */
const REST_MS = 60_000

/** Processes that share the requests of a rule and one server, on virtual time. What decides in them is what decides in real ones. */
export class ProcessGroup {
  /** The cost of what passed. */
  admitted = 0
  /** What became of the units that were taken ahead of time. */
  readonly units: Record<PrefetchCount, number> = { calls: 0, granted: 0, returned: 0, late: 0 }
  readonly #time = new VirtualTime()
  readonly #server = new SimulatedServer(this.#time, randomFrom(2))
  readonly #limit: Limit
  readonly #stores: readonly Store[]
  /** Which process a request reaches. The same for each group. */
  readonly #random = randomFrom(1)
  #lastId = 0

  /** @param prefetch how they take units ahead of time; undefined: they ask for every request. */
  constructor({ rule, blockForMs = 0 }: Contestant, processes: number, prefetch: PrefetchTerms | undefined) {
    this.#limit = createLimit({ limiter: 'simulated', rule, blockMs: blockForMs, prefetch })
    this.#stores = Array.from({ length: processes }, () => this.#start())
  }

  /** How often the server was asked. */
  get calls(): number {
    return this.#server.calls
  }

  /** One of the processes gets a request. */
  decide({ atMs, key, cost }: Arrival): void {
    this.#time.run(atMs)
    const place = { limit: this.#limit, subject: key, key }
    const operation = createOperation(place, 'consume', { amount: cost, blockMs: this.#limit.blockMs })
    const note: Reply['done'] = ([result]) => {
      if (result?.allowed === true) this.admitted += cost
    }
    const call = { operations: [operation], nowMs: atMs, idempotency: undefined, timeoutMs: 0 }
    const store = this.#stores[this.#random.whole(0, this.#stores.length - 1)] as Store
    // The network of a simulation loses nothing.
    const results = store.decide(call, { done: note, failed: note as Reply['failed'] })
    if (results !== undefined) note(results)
  }

  /** Moves on to just before `untilMs`, without a request. */
  passTime(untilMs: number): void {
    this.#time.run(Math.max(this.#time.nowMs, untilMs - 1))
  }

  /** Lets come in what is under way, and go back what is held. Nothing may be decided after that. */
  rest(): void {
    this.#time.run(this.#time.nowMs + REST_MS)
  }

  #start(): Store {
    const store = withPrefetch(withDenialCache(this.#server.connect(), { maxAgeMs: DENIAL_CACHE_MS }), {
      clock: driftingClock(this.#time, 0, 0),
      timeoutMs: 0,
      denialCacheMs: DENIAL_CACHE_MS,
      createId: () => ++this.#lastId,
      nextTurn: (run) => this.#time.after(0, run),
      count: (_limit, what, units) => {
        this.units[what] += units
      },
    })
    store.register(this.#limit)
    return store
  }
}
