import { AsyncLocalStorage } from 'node:async_hooks'
import { dateAfter, timerNowMs } from '../../core/clock.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { type DropInOptions, type DropInSettings, dropInSettings } from './drop-in-options.ts'
import { type HitLimiter, type HitStoreInit, hitLimiter } from './hit-limiter.ts'
import { hitsOf, subjectOf, toldMs } from './hits.ts'

/** What a client has used. */
export interface HitInfo {
  /** Hits in use, or one more than the limit for a hit that was refused: that one is not counted. */
  readonly totalHits: number
  /** When a hit passes again after a refusal, otherwise when the client is as if it had never come. */
  readonly resetTime: ReturnType<typeof dateAfter>
}

/** What a request remembers of its own hit, so that only what was counted, and still is, goes back. */
interface Hit {
  countedUntilMs: number
}

/** The store of express-rate-limit and hono-rate-limiter: they hand over a key, and compare the hits with their limit. */
export class HitStore {
  /** Whether no other store can reach these counts. */
  readonly localKeys: boolean
  /** Tells these counts from those of other stores. Complete after `init`. */
  prefix: string
  readonly #settings: DropInSettings
  readonly #hits = new AsyncLocalStorage<Hit>()
  #givesBack = false
  #opened: HitLimiter | undefined
  #failure: unknown

  constructor(what: string, library: string, options: DropInOptions) {
    this.#settings = dropInSettings(what, library, options)
    this.localKeys = this.#settings.ownsStore
    this.prefix = this.#settings.name
    this.#failure = new LimiterError('INVALID_OPTION', `${what} has no limit yet: ${library} must call init() first`)
  }

  /** Takes the limit over. Throws when no rule can be made of it, and then every hit is rejected with the same error. */
  init(options: HitStoreInit): void {
    try {
      const opened = hitLimiter(this.#settings, options)
      this.#demandSame(opened.limiter.name)
      this.#opened = opened
      this.prefix = opened.limiter.name
      this.#givesBack ||= options.skipFailedRequests === true || options.skipSuccessfulRequests === true
    } catch (error) {
      // express-rate-limit prints what is thrown here, and goes on.
      this.#failure = error
      this.#opened = undefined
      throw error
    }
  }

  /** What a client has used, `undefined` when it is as if it had never come. Counts nothing. */
  async get(key: string): Promise<HitInfo | undefined> {
    const { limiter, limit } = this.#demandOpened()
    const { remaining, resetAfterMs } = await limiter.peek(subjectOf(key))
    return resetAfterMs === 0 ? undefined : { totalHits: limit - remaining, resetTime: dateAfter(resetAfterMs) }
  }

  /** Counts a hit, unless the limit is reached. */
  async increment(key: string): Promise<HitInfo> {
    const hit = this.#givesBack ? this.#remembered() : undefined
    const { limiter, limit } = this.#demandOpened()
    const decision = await limiter.consume(subjectOf(key))
    if (hit !== undefined && decision.allowed) hit.countedUntilMs = this.#nowMs() + decision.resetAfterMs
    return { totalHits: hitsOf(decision, limit), resetTime: dateAfter(toldMs(decision)) }
  }

  /** Gives a hit back. Does nothing in a request whose hit was refused, or is counted no more. */
  async decrement(key: string): Promise<void> {
    const { limiter } = this.#demandOpened()
    const hit = this.#hits.getStore()
    if (hit === undefined || this.#nowMs() < hit.countedUntilMs) await limiter.giveBack(subjectOf(key))
  }

  /** Forgets a client. */
  async resetKey(key: string): Promise<void> {
    await this.#demandOpened().limiter.reset(subjectOf(key))
  }

  /** Forgets every client of this limit, in all processes. On Redis it looks through all keys: not for every request. */
  async resetAll(): Promise<void> {
    const { clear } = this.#demandOpened()
    if (clear === undefined) {
      const message = 'resetAll() needs a store that can forget all keys of a limit: it has no clear()'
      throw new LimiterError('INVALID_ARGUMENT', message)
    }
    await clear()
  }

  /** Ends the store: later hits are rejected. A store of Sluice that was passed in stays open. */
  async shutdown(): Promise<void> {
    await this.#opened?.limiter.close()
    if (this.#settings.ownsStore) await this.#settings.store.close?.()
  }

  // The library gives back by key alone, also for requests that it refused and that were never counted. What is entered here,
  // before anything is awaited, is found again in all that the same request does later.
  #remembered(): Hit {
    const hit = { countedUntilMs: Number.NEGATIVE_INFINITY }
    this.#hits.enterWith(hit)
    return hit
  }

  #nowMs(): number {
    return timerNowMs(this.#settings.clock)
  }

  #demandOpened(): HitLimiter {
    if (this.#opened === undefined) throw this.#failure
    return this.#opened
  }

  #demandSame(name: string): void {
    if (this.#opened === undefined || this.#opened.limiter.name === name) return
    const message = `a store decides by one limit, ${this.#opened.limiter.name}, got another, ${name}: make one for each`
    throw new LimiterError('INVALID_OPTION', message)
  }
}
