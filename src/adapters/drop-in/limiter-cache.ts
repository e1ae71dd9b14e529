import type { Rule } from '../../core/rule.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { createRule, type DropInSettings, firstHitWindow, UNREACHED } from './drop-in-options.ts'
import { countHits } from './hits.ts'

/** The most limiters in the cache. Making one anew loses no count: counts are in the store. */
const MOST_LIMITERS = 1_000

/** What a limiter does about a refusal. */
export interface Punishment {
  /** The shortest block after a refusal. */
  readonly blockForMs: number
  /** Whether later requests change the block: every request then asks the store. */
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

  /** Returns the limiter that lets `limit` pass in `windowMs`. */
  get(limit: number, windowMs: number, punishment?: Punishment): Limiter {
    const rule = (): Rule => createRule(this.#settings, limit, windowMs, punishment?.rule)
    return this.#find(`${windowMs}`, limit, rule, punishment)
  }

  /** Adds one to a count and returns it, in a window that opens with the first. Never refuses. */
  async count(subject: string, windowMs: number): Promise<number> {
    return countHits(await this.counter(windowMs).consume(subject), UNREACHED)
  }

  /** Counts from the start again. */
  async countAfresh(subject: string, windowMs: number): Promise<void> {
    await this.counter(windowMs).reset(subject)
  }

  /** Returns the limiter that only counts, in a window that opens with the first hit. */
  counter(windowMs: number): Limiter {
    return this.#find(`count/${windowMs}`, UNREACHED, () => firstHitWindow(UNREACHED, windowMs))
  }

  /** Closes all limiters; `get` makes new ones later. A store that was passed in stays open, and keeps its counts. */
  async close(): Promise<void> {
    const { ownsStore, store } = this.#settings
    const limiters = [...this.#limiters.values()]
    this.#limiters.clear()
    await Promise.all(limiters.map((limiter) => limiter.close()))
    if (ownsStore) await store.close?.()
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
    const blocking = blockForMs === undefined ? {} : { blockFor: blockForMs }
    return createLimiter({
      name: `${name}/${part}`,
      rule,
      ...common,
      ...blocking,
      ...(changes && { denialCache: false }),
    })
  }
}
