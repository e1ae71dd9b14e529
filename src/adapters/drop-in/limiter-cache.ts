import type { Rule } from '../../core/rule.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { type DropInSettings, firstHitWindow, ruleFor, UNREACHED } from './drop-in-options.ts'
import { hitsOf } from './hits.ts'

/** How many limiters are kept at hand. Making one anew loses no count: those are in the store. */
const MOST_LIMITERS = 1_000

/** What a limiter does about a refusal. */
export interface Punishment {
  /** For how long a refusal blocks at least. */
  readonly blockForMs: number
  /** Whether what follows a refusal changes its block: every request then asks the store. */
  readonly changes: boolean
  /**
   * The rule, where the options name none.
   * @default firstHitWindow
   */
  readonly rule?: typeof firstHitWindow
}

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
  of(limit: number, windowMs: number, punishment?: Punishment): Limiter {
    const rule = (): Rule => ruleFor(this.#settings, limit, windowMs, punishment?.rule)
    return this.#find(`${windowMs}`, limit, rule, punishment)
  }

  /** Counts one more and says how many it were, in a window that opens with the first. Refuses nobody. */
  async count(subject: string, windowMs: number): Promise<number> {
    return hitsOf(await this.#counter(windowMs).consume(subject), UNREACHED)
  }

  /** Counts from the start again. */
  async countAfresh(subject: string, windowMs: number): Promise<void> {
    await this.#counter(windowMs).reset(subject)
  }

  /** Ends all limiters; those that are asked for later are made anew. A store that was passed in stays open, and keeps its counts. */
  async close(): Promise<void> {
    const { ownsStore, store } = this.#settings
    const limiters = [...this.#limiters.values()]
    this.#limiters.clear()
    await Promise.all(limiters.map((limiter) => limiter.close()))
    if (ownsStore) await store.close?.()
  }

  #counter(windowMs: number): Limiter {
    return this.#find(`count/${windowMs}`, UNREACHED, () => firstHitWindow(UNREACHED, windowMs))
  }

  #find(part: string, limit: number, rule: () => Rule, punishment?: Punishment): Limiter {
    const id = `${part} ${limit} ${punishment?.blockForMs} ${punishment?.changes}`
    const limiter = this.#limiters.get(id) ?? this.#create(part, rule(), punishment)
    // Last in, last out: what was used longest ago comes first.
    this.#limiters.delete(id)
    this.#limiters.set(id, limiter)
    if (this.#limiters.size > MOST_LIMITERS) this.#limiters.delete(this.#limiters.keys().next().value as string)
    return limiter
  }

  #create(part: string, rule: Rule, punishment: Punishment | undefined): Limiter {
    const { name, common } = this.#settings
    const { blockForMs, changes = false } = punishment ?? {}
    const blocking = blockForMs === undefined ? {} : { blockForMs }
    return createLimiter({
      name: `${name}/${part}`,
      rule,
      ...common,
      ...blocking,
      ...(changes && { denialCacheMs: 0 }),
    })
  }
}
