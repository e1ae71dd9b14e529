import type { Rule } from '../../core/rule.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type DropInSettings, firstHitWindow, ruleFor, UNREACHED } from './drop-in-options.ts'
import { hitsOf } from './hits.ts'

/** How many limiters are kept at hand. Making one anew loses no count: those are in the store. */
const MOST_LIMITERS = 1_000

/**
 * Limiters for limits and windows that are known only when a request comes. A limit that changes keeps its count; each window
 * counts apart, because what most rules remember has no meaning in another one.
 */
export class LimiterCache {
  readonly #settings: DropInSettings
  readonly #limiters = new Map<string, Limiter>()

  constructor(settings: DropInSettings) {
    this.#settings = settings
  }

  /** The limiter that lets `limit` pass in `windowMs`. */
  of(limit: number, windowMs: number): Limiter {
    return this.#find(`${windowMs}`, limit, () => ruleFor(this.#settings, limit, windowMs))
  }

  /** Counts one more and says how many it were, in a window that opens with the first. Refuses nobody. */
  async count(subject: string, windowMs: number): Promise<number> {
    const counter = this.#find(`count/${windowMs}`, UNREACHED, () => firstHitWindow(UNREACHED, windowMs))
    return hitsOf(await counter.consume(subject), UNREACHED)
  }

  /** Ends all limiters; those that are asked for later are made anew. A store that was passed in stays open, and keeps its counts. */
  async close(): Promise<void> {
    const { ownsStore, store } = this.#settings
    const limiters = [...this.#limiters.values()]
    this.#limiters.clear()
    await Promise.all(limiters.map((limiter) => limiter.close()))
    if (ownsStore) await store.close?.()
  }

  #find(part: string, limit: number, rule: () => Rule): Limiter {
    const { name, common } = this.#settings
    const id = `${part} ${limit}`
    const limiter = this.#limiters.get(id) ?? createLimiter({ name: `${name}/${part}`, rule: rule(), ...common })
    // Last in, last out: what was used longest ago comes first.
    this.#limiters.delete(id)
    this.#limiters.set(id, limiter)
    if (this.#limiters.size > MOST_LIMITERS) this.#limiters.delete(this.#limiters.keys().next().value as string)
    return limiter
  }
}
