import type { LimitResult } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { decide } from '../engine/decide.ts'
import { type KeyState, UNTOUCHED } from '../engine/key-state.ts'
import { ExpiringMap } from './expiring-map.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Half of what a round trip takes: at least, and what comes to that on average. */
const LEAST_WAY_MS = 0.1
const MEAN_REST_MS = 0.15

/** A server that processes reach over a network, on virtual time. It decides by the engine's own code. */
export class SimulatedServer {
  /** How often it was asked. */
  calls = 0
  readonly #time: VirtualTime
  readonly #random: Random
  readonly #keys = new ExpiringMap<KeyState>()

  constructor(time: VirtualTime, random: Random) {
    this.#time = time
    this.#random = random
  }

  /** The server as one process reaches it. */
  connect(): Store {
    return {
      name: 'redis',
      isLocal: false,
      register() {},
      decide: ({ operations }, reply) => {
        this.calls++
        this.#time.after(this.#wayMs(), () => {
          const results = operations.map((operation) => this.#decide(operation))
          this.#time.after(this.#wayMs(), () => reply.done(results))
        })
        return undefined
      },
    }
  }

  #decide(operation: Operation): LimitResult {
    const { key } = operation
    const nowMs = Math.floor(this.#time.nowMs)
    this.#keys.expire(nowMs)
    const transition = decide(operation, this.#keys.get(key) ?? UNTOUCHED, nowMs)
    this.#keys.set(key, transition, nowMs + transition.resetAfterMs)
    return transition
  }

  #wayMs(): number {
    return LEAST_WAY_MS + MEAN_REST_MS * this.#random.exponential()
  }
}
