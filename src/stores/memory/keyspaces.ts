import { timerNowMs } from '../../core/clock.ts'
import { encodeScope } from '../../core/key.ts'
import { type Limit, refuseUnregistered } from '../../core/limit.ts'
import type { Counting } from './counting-limits.ts'
import { Keyspace } from './keyspace.ts'

/** How many deserted keyspaces one opening looks at: more than one, so that they go faster than they can come. */
const VISITS = 4

/** Where the keys of a limit are, and by which rule it counts. */
export interface Registered {
  readonly scope: string
  readonly keyspace: Keyspace
  readonly counting: Counting
}

/** The keyspaces of a store by scope. One that no limit can ask any more goes as soon as nothing in it counts. */
export class Keyspaces {
  readonly #maxKeys: number
  readonly #keyspaces = new Map<string, Keyspace>()
  readonly #registered = new WeakMap<Limit, Registered>()
  #lastLimit: Limit | undefined
  #last: Registered | undefined
  /** The deserted ones, and how far the time of each is behind that of timers: it goes on as real time does. */
  readonly #deserted = new Map<string, number>()
  #evicted = 0
  #shared = 0

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  /** How many there are. */
  get size(): number {
    return this.#keyspaces.size
  }

  /** Finds the keys of a limit, or makes room for them. */
  register(limit: Limit): void {
    this.#sweep()
    this.#lastLimit = undefined
    const scope = encodeScope(limit)
    this.#deserted.delete(scope)
    const keyspace = this.#keyspaces.get(scope) ?? this.#create(scope, limit)
    this.#registered.set(limit, { scope, keyspace, counting: keyspace.limits.join(limit.rule, limit) })
  }

  /** No operation of this limit comes any more. */
  unregister(limit: Limit): void {
    const { keyspace, counting } = this.find(limit)
    this.#lastLimit = undefined
    keyspace.limits.leave(limit, counting)
  }

  /** Where the keys of a limit are. */
  find(limit: Limit): Registered {
    // Most stores have one limit: it is found without a look.
    if (limit === this.#lastLimit) return this.#last as Registered
    const registered = this.#registered.get(limit)
    if (registered === undefined) return refuseUnregistered(limit)
    this.#lastLimit = limit
    this.#last = registered
    return registered
  }

  totals(): { keys: number; blocks: number; evicted: number; shared: number } {
    const total = { keys: 0, blocks: 0, evicted: this.#evicted, shared: this.#shared }
    for (const keyspace of this.#keyspaces.values()) {
      total.keys += keyspace.keys
      total.blocks += keyspace.blocks
      total.evicted += keyspace.evicted
      total.shared += keyspace.shared
    }
    return total
  }

  clear(): void {
    this.#keyspaces.clear()
    this.#deserted.clear()
  }

  #create(scope: string, { rule, rulesVary }: Limit): Keyspace {
    const deserted = (): void => {
      // The store may have been closed, and opened again, meanwhile.
      if (this.#keyspaces.get(scope) === keyspace) this.#visit(scope, timerNowMs(undefined) - keyspace.lastMs)
    }
    const keyspace = new Keyspace(this.#maxKeys, rule.compactCodec ?? rule.codec, rulesVary, deserted)
    this.#keyspaces.set(scope, keyspace)
    return keyspace
  }

  #sweep(): void {
    let visits = 0
    for (const [scope, behindMs] of this.#deserted) {
      if (visits++ === VISITS) return
      this.#deserted.delete(scope)
      this.#visit(scope, behindMs)
    }
  }

  #visit(scope: string, behindMs: number): void {
    const keyspace = this.#keyspaces.get(scope) as Keyspace
    if (!keyspace.isUntouched(timerNowMs(undefined) - behindMs)) {
      this.#deserted.set(scope, behindMs)
      return
    }
    this.#keyspaces.delete(scope)
    this.#evicted += keyspace.evicted
    this.#shared += keyspace.shared
  }
}
