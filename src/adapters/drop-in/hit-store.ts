import { AsyncLocalStorage } from 'node:async_hooks'
import { dateAfter, timerNowMs } from '../../core/clock.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { type DropInOptions, type DropInSettings, parseDropInOptions } from './drop-in-options.ts'
import { createHitLimiter, type HitLimiter, type HitStoreInit } from './hit-limiter.ts'
import { composeSubject, countHits, resolveResetMs } from './hits.ts'

/** The hits of a client. */
export interface HitInfo {
  /** Hits in use, or one more than the limit for a hit that was refused: that one is not counted. */
  readonly totalHits: number
  /** When a hit passes after a refusal, otherwise when the client's count is zero. */
  readonly resetTime: ReturnType<typeof dateAfter>
}

/** The hit of a request, so that the store refunds only a hit that was counted, and still is. */
interface Hit {
  countedUntilMs: number
}

/** The store of express-rate-limit and hono-rate-limiter: they hand over a key, and compare the hits with their limit. */
export class HitStore {
  /** Whether these counts are in a memory store of their own. */
  readonly localKeys: boolean
  /** Distinguishes these counts from those of other stores. Complete after `init`. */
  prefix: string
  readonly #settings: DropInSettings
  readonly #hits = new AsyncLocalStorage<Hit>()
  #refunds = false
  #opened: HitLimiter | undefined
  #failure: unknown

  constructor(what: string, library: string, options: DropInOptions) {
    this.#settings = parseDropInOptions(what, library, options)
    this.localKeys = this.#settings.ownsStore
    this.prefix = this.#settings.name
    this.#failure = new LimiterError('INVALID_OPTION', `${what} has no limit yet: ${library} must call init() first`)
  }

  /** Takes the limit of the library. Throws when no rule can have it, and then every hit is rejected with the same error. */
  init(options: HitStoreInit): void {
    try {
      const opened = createHitLimiter(this.#settings, options)
      this.#assertSameLimit(opened.limiter.name)
      this.#opened = opened
      this.prefix = opened.limiter.name
      this.#refunds ||= options.skipFailedRequests === true || options.skipSuccessfulRequests === true
    } catch (error) {
      // express-rate-limit prints what is thrown here, and goes on.
      this.#failure = error
      this.#opened = undefined
      throw error
    }
  }

  /** Returns the hits of a client, `undefined` when there are none. Counts nothing. */
  async get(key: string): Promise<HitInfo | undefined> {
    const { limiter, limit } = this.#assertOpened()
    const { remaining, resetAfterMs } = await limiter.peek(composeSubject(key))
    return resetAfterMs === 0 ? undefined : { totalHits: limit - remaining, resetTime: dateAfter(resetAfterMs) }
  }

  /** Counts a hit, unless the limit is reached. */
  async increment(key: string): Promise<HitInfo> {
    const hit = this.#refunds ? this.#enterHit() : undefined
    const { limiter, limit } = this.#assertOpened()
    const decision = await limiter.consume(composeSubject(key))
    if (hit !== undefined && decision.allowed) hit.countedUntilMs = this.#nowMs() + decision.resetAfterMs
    return { totalHits: countHits(decision, limit), resetTime: dateAfter(resolveResetMs(decision)) }
  }

  /** Refunds a hit. Does nothing in a request whose hit was refused, or has expired. */
  async decrement(key: string): Promise<void> {
    const { limiter } = this.#assertOpened()
    const hit = this.#hits.getStore()
    if (hit === undefined || this.#nowMs() < hit.countedUntilMs) await limiter.refund(composeSubject(key))
  }

  /** Forgets a client. */
  async resetKey(key: string): Promise<void> {
    await this.#assertOpened().limiter.reset(composeSubject(key))
  }

  /** Forgets every client of this limit, in all processes. On Redis it looks through all keys: not for every request. */
  async resetAll(): Promise<void> {
    const { clear } = this.#assertOpened()
    if (clear === undefined) {
      const message = 'resetAll() needs a store with clear(), and this store has none'
      throw new LimiterError('INVALID_ARGUMENT', message)
    }
    await clear()
  }

  /** Closes the store: later hits are rejected. A store of Sluice that was passed in stays open. */
  async shutdown(): Promise<void> {
    await this.#opened?.limiter.close()
    if (this.#settings.ownsStore) await this.#settings.store.close?.()
  }

  // The library refunds by key alone, also for requests that it refused and that were never counted. The hit is entered before the
  // first await, so that everything the request does later finds it.
  #enterHit(): Hit {
    const hit = { countedUntilMs: Number.NEGATIVE_INFINITY }
    this.#hits.enterWith(hit)
    return hit
  }

  #nowMs(): number {
    return timerNowMs(this.#settings.clock)
  }

  #assertOpened(): HitLimiter {
    if (this.#opened === undefined) throw this.#failure
    return this.#opened
  }

  #assertSameLimit(name: string): void {
    if (this.#opened === undefined || this.#opened.limiter.name === name) return
    const message = `a store takes one limit, ${this.#opened.limiter.name}, got another, ${name}. Make a store for each`
    throw new LimiterError('INVALID_OPTION', message)
  }
}
