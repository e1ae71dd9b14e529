import { createLimit } from '../../src/core/limit.ts'
import { createConsume } from '../../src/core/operation.ts'
import type { Rule } from '../../src/core/rule.ts'
import type { Reply, Store, StoreCall } from '../../src/core/store.ts'
import type { Random } from '../../src/simulate/random.ts'
import { driftingClock, type VirtualTime } from '../../src/simulate/virtual-time.ts'
import { withDenialCache } from '../../src/stores/denial-cache.ts'
import { withPrefetch } from '../../src/stores/prefetch/prefetch.ts'
import { Network } from './network.ts'
import type { Server } from './server.ts'

/** What a process lives in. */
export interface ProcessWorld {
  readonly time: VirtualTime
  readonly random: Random
  readonly rule: Rule
  /** How long a grant is used. @default 100 */
  readonly maxMs?: number
  createId(): number
  /** Which server has a key. */
  server(key: string): Server
}

/** The defaults of a limiter with `prefetch`. */
const MAX_MS = 100
const MAX_SHARE = 0.01
const DENIAL_CACHE_MS = 1_000

/** A process with the layers of a limiter that prefetches, on a network that works. */
export class Process {
  admitted = 0
  readonly #world: ProcessWorld
  readonly #limit
  readonly #clock
  readonly #store: Store
  readonly #calls = new Map<Server, Calls>()
  readonly #reply: Reply = {
    done: ([result]) => {
      if (result?.allowed) this.admitted++
    },
    failed() {},
  }

  constructor(world: ProcessWorld) {
    const { time, rule, createId, maxMs = MAX_MS } = world
    this.#world = world
    this.#limit = createLimit({ limiter: 'all', rule, prefetch: { maxMs, maxShare: MAX_SHARE } })
    this.#clock = driftingClock(time, 1_000_000, 0)
    const base: Store = {
      name: 'virtual',
      isLocal: false,
      register() {},
      decide: (call, reply) => this.#ask(call, reply),
    }
    const options = { clock: this.#clock, timeoutMs: 0, denialCacheMs: DENIAL_CACHE_MS, createId, count() {} }
    const nextTurn = (run: () => void): void => time.after(0, run)
    this.#store = withPrefetch(withDenialCache(base, { maxAgeMs: DENIAL_CACHE_MS }), { ...options, nextTurn })
    this.#store.register(this.#limit)
  }

  consume(key: string): void {
    const operations = [createConsume(this.#limit, key, key, 1, 0)]
    const call = { operations, nowMs: this.#clock.nowMs(), idempotency: undefined, timeoutMs: 0 }
    const results = this.#store.decide(call, this.#reply)
    if (results !== undefined) this.#reply.done(results)
  }

  /** What a server has decided for it so far: several decisions may share a call. */
  countAsked(server: Server): number {
    return this.#calls.get(server)?.asked ?? 0
  }

  /** The calls to a server so far. */
  countCalls(server: Server): number {
    return this.#calls.get(server)?.count ?? 0
  }

  #ask(call: StoreCall, reply: Reply): undefined {
    const [first] = call.operations
    const server = this.#world.server(first?.key ?? '')
    const calls = this.#calls.get(server) ?? new Calls(this.#world, server)
    this.#calls.set(server, calls)
    calls.send(call, reply)
  }
}

/** The calls of a process to one server. As in the Redis store, what one turn asks one script is one call. */
class Calls {
  count = 0
  asked = 0
  readonly #time: VirtualTime
  readonly #network: Network
  #hotMs = -1
  #fullMs = -1

  constructor({ time, random }: ProcessWorld, server: Server) {
    this.#time = time
    // A round trip on a quiet network: 0.15 ms, and mostly less than a millisecond more.
    const delayMs = (): number => 0.075 + 0.175 * random.exponential()
    this.#network = new Network(time, server, random, { delayMs, lost: 0, resent: 0, timeoutMs: 50 })
  }

  send(call: StoreCall, reply: Reply): void {
    const { nowMs } = this.#time
    this.asked += call.operations.length
    const isHot = call.operations.every(({ type }) => type === 'consume')
    if (nowMs !== (isHot ? this.#hotMs : this.#fullMs)) this.count++
    if (isHot) this.#hotMs = nowMs
    else this.#fullMs = nowMs
    this.#network.store.decide(call, reply)
  }
}
