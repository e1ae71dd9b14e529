import type { LimitResult } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'

/** How many refusals are remembered of one limiter. The oldest one makes room. */
const MOST_DENIALS = 10_000

/** A refusal by the store, with what it said of every limit. Times are by whatever clock the limiter goes by. */
export interface Denial {
  readonly amounts: readonly number[]
  readonly rules: readonly Rule[]
  readonly results: readonly LimitResult[]
  /** The names of the limits that it is about, where those are several. */
  readonly limits: readonly string[]
  /** For how long the store would say the same, but for times that run down. */
  readonly lastsMs: number
  /** When the store was asked: its own time of the decision was no earlier. */
  readonly askedMs: number
  /** When it had answered: no later. */
  readonly answeredMs: number
}

/** The refusals that still hold, of all limiters of one name on one store in this process. */
export class Denials {
  readonly #denials = new Map<string, Denial>()
  /** The names of refusals over several limits, by each limit's own. */
  readonly #joint = new Map<string, Set<string>>()

  /** Whether nothing is known. */
  get isEmpty(): boolean {
    return this.#denials.size === 0
  }

  /** The refusal of this name, unless it is older than it lasts, or than `longestMs`. */
  find(name: string, nowMs: number, longestMs: number): Denial | undefined {
    const denial = this.#denials.get(name)
    if (denial === undefined) return undefined
    const passedMs = nowMs - denial.askedMs
    if (passedMs >= 0 && passedMs < denial.lastsMs && passedMs < longestMs) return denial
    this.#remove(name)
    return undefined
  }

  /** Remembers a refusal. */
  note(name: string, denial: Denial): void {
    this.#remove(name)
    if (this.#denials.size === MOST_DENIALS) this.#remove(this.#denials.keys().next().value as string)
    this.#denials.set(name, denial)
    for (const limit of denial.limits) this.#joint.set(limit, (this.#joint.get(limit) ?? new Set()).add(name))
  }

  /** Something of a limit has changed: what is known of it, alone or with others, holds no more. */
  forget(limit: string): void {
    this.#remove(limit)
    for (const name of this.#joint.get(limit) ?? []) this.#remove(name)
  }

  /** Everything has changed. */
  clear(): void {
    this.#denials.clear()
    this.#joint.clear()
  }

  #remove(name: string): void {
    for (const limit of this.#denials.get(name)?.limits ?? []) {
      const names = this.#joint.get(limit)
      names?.delete(name)
      if (names?.size === 0) this.#joint.delete(limit)
    }
    this.#denials.delete(name)
  }
}

/** A limiter's use of a cache. */
export interface Joined {
  readonly denials: Denials
  /** Ends it. */
  leave(): void
}

interface Shared {
  readonly denials: Denials
  users: number
}

const caches = new WeakMap<Store, Map<string, Shared>>()

/** The cache that all limiters of one name on one store have in common: what one of them changes, all of them have to ask about. */
export function joinDenials(store: Store, limiterName: string): Joined {
  const byName = caches.get(store) ?? new Map<string, Shared>()
  caches.set(store, byName)
  const shared = byName.get(limiterName) ?? { denials: new Denials(), users: 0 }
  byName.set(limiterName, shared)
  shared.users++
  return {
    denials: shared.denials,
    leave: () => {
      shared.users--
      if (shared.users === 0) byName.delete(limiterName)
    },
  }
}

/** Lets the limiters of a name ask again about every key: all of them were forgotten. */
export function forgetDenials(store: Store, limiterName: string): void {
  caches.get(store)?.get(limiterName)?.denials.clear()
}
