import type { LimitResult } from '../core/decision.ts'
import type { Operation } from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'

/** How many refusals are remembered of one limiter. The oldest one makes room. */
const MOST_DENIALS = 10_000

/** A refusal by the store, with what it said of every limit. Times are by whatever clock the limiter goes by. */
export interface Denial {
  readonly operations: readonly Operation[]
  readonly results: readonly LimitResult[]
  /** For how long the store would say the same, but for times that run down. */
  readonly lastsMs: number
  /** When the store was asked: its own time of the decision was no earlier. */
  readonly askedMs: number
  /** When it had answered: no later. */
  readonly answeredMs: number
}

/** The refusals that still hold, of all limiters of one name on one store in this process. */
export class Denials {
  /** How many limits use it. */
  limits = 0
  /** Whether no refusal is known. */
  isEmpty = true
  readonly #denials = new Map<string, Denial>()
  /** The names of refusals over tiers, by each key's own. */
  readonly #joint = new Map<string, Set<string>>()

  /** The refusal of this name, unless it is older than it lasts, or than `maxAgeMs`. */
  find(name: string, nowMs: number, maxAgeMs: number): Denial | undefined {
    const denial = this.#denials.get(name)
    if (denial === undefined) return undefined
    const passedMs = nowMs - denial.askedMs
    if (passedMs >= 0 && passedMs < denial.lastsMs && passedMs < maxAgeMs) return denial
    this.#remove(name)
    return undefined
  }

  /** Remembers a refusal. */
  note(name: string, denial: Denial): void {
    this.#remove(name)
    if (this.#denials.size === MOST_DENIALS) this.#remove(this.#denials.keys().next().value as string)
    this.#denials.set(name, denial)
    this.isEmpty = false
    for (const key of listTiers(denial)) this.#joint.set(key, (this.#joint.get(key) ?? new Set()).add(name))
  }

  /** A key has changed: what is known of it, alone or with others, holds no more, but for what was refused by the rule `but`. */
  forget(key: string, but: Rule | undefined): void {
    for (const name of [key, ...(this.#joint.get(key) ?? [])]) {
      const operations = this.#denials.get(name)?.operations
      if (operations?.some((operation) => operation.rule !== but && nameKey(operation) === key)) this.#remove(name)
    }
  }

  /** Everything has changed. */
  clear(): void {
    this.#denials.clear()
    this.#joint.clear()
    this.isEmpty = true
  }

  #remove(name: string): void {
    for (const key of listTiers(this.#denials.get(name))) {
      const names = this.#joint.get(key)
      names?.delete(name)
      if (names?.size === 0) this.#joint.delete(key)
    }
    this.#denials.delete(name)
    this.isEmpty = this.#denials.size === 0
  }
}

function listTiers(denial: Denial | undefined): readonly string[] {
  return denial?.operations[0]?.limit.tier === undefined ? [] : denial.operations.map(nameKey)
}

/** What a key of a limit is called among those of its limiter. Encoded keys contain no space. */
export function nameKey({ limit, key }: Operation): string {
  return limit.tier === undefined ? key : `${key} ${limit.tier}`
}

const byStore = new WeakMap<Store, Map<string, Denials>>()

/** The refusals of all limiters on a store, by their names. */
export function openDenials(base: Store): Map<string, Denials> {
  const known = byStore.get(base) ?? new Map<string, Denials>()
  byStore.set(base, known)
  return known
}
