import { type DropInOptions, dropInSettings, failingOpen } from '../drop-in/drop-in-options.ts'
import { hitsOf, subjectOf, toldMs } from '../drop-in/hits.ts'
import { LimiterCache } from '../drop-in/limiter-cache.ts'
import { type Penalties, penaltyOf, punishmentOf } from './penalty.ts'

/** What `@fastify/rate-limit` learns of a request. */
export interface FastifyHits {
  /** Hits in use, or more than `max` for a refusal, which is not counted. */
  readonly current: number
  /** Until a request passes again after a refusal, otherwise until the client is as if it had never come. Milliseconds. */
  readonly ttl: number
}

/** Takes what a store has found out, or why it could not. */
export type FastifyHitsCallback = (error: Error | null, hits?: FastifyHits) => void

/** A store of `@fastify/rate-limit`: of the plugin, or of one of its routes. */
export interface FastifyRateLimitStore {
  /** Counts a hit, unless `max` is reached. `timeWindow` in milliseconds. */
  incr(key: string, callback: FastifyHitsCallback, timeWindow: number, max: number): void
  /** As `incr`, but counts nothing. */
  read(key: string, callback: FastifyHitsCallback, timeWindow: number, max: number): void
  /** The store of a route with settings of its own. It counts apart, but together with routes of the same `groupId`. */
  child(settings: object): FastifyRateLimitStore
}

/** The settings of the plugin or of a route, as far as they are the store's concern. */
interface StoreSettings extends Penalties {
  readonly groupId?: unknown
  readonly skipOnError?: unknown
  readonly routeInfo?: { readonly method?: unknown; readonly url?: unknown }
}

/**
 * A store for `@fastify/rate-limit` that decides by a rule of Sluice, in memory or on Redis. A refused request is not counted.
 * The plugin wants a class: `app.register(rateLimit, { store: fastifyRateLimitStore() })`.
 */
export function fastifyRateLimitStore(options: DropInOptions = {}): new (settings: object) => FastifyRateLimitStore {
  const shared = dropInSettings('fastifyRateLimitStore()', 'fastify-rate-limit', options)
  const usual = new LimiterCache(shared)
  const open = new LimiterCache(failingOpen(shared))
  let withoutRoute = 0

  return class SluiceStore implements FastifyRateLimitStore {
    readonly #settings: StoreSettings
    readonly #scope: readonly unknown[]
    readonly #limiters: LimiterCache

    constructor(settings: StoreSettings, scope: readonly unknown[] = ['all']) {
      this.#settings = settings
      this.#scope = scope
      this.#limiters = settings.skipOnError === true ? open : usual
    }

    incr(key: string, callback: FastifyHitsCallback, timeWindow: number, max: number): void {
      answer(this.#hit(key, timeWindow, max), callback)
    }

    read(key: string, callback: FastifyHitsCallback, timeWindow: number, max: number): void {
      answer(this.#look(key, timeWindow, max), callback)
    }

    child(settings: StoreSettings): FastifyRateLimitStore {
      const { groupId, routeInfo } = settings
      if (groupId !== undefined) return new SluiceStore(settings, ['group', groupId])
      // Limits that belong to no route are told apart by the order in which they are made, the same in every process.
      if (routeInfo?.url === undefined) return new SluiceStore(settings, ['made', ++withoutRoute])
      return new SluiceStore(settings, ['route', routeInfo.method, routeInfo.url])
    }

    async #hit(key: string, windowMs: number, max: number): Promise<FastifyHits> {
      if (max === 0) return { current: 1, ttl: windowMs }
      const limiters = this.#limiters
      const limiter = limiters.of(max, windowMs, punishmentOf(this.#settings, windowMs))
      const subject = subjectOf(key, ...this.#scope)
      const decision = await limiter.consume(subject)
      if (decision.allowed) return { current: hitsOf(decision, max), ttl: toldMs(decision) }
      const refusal = { limiters, limiter, subject, windowMs, decision }
      const { refusals, waitMs } = await penaltyOf(this.#settings, refusal)
      return { current: max + refusals, ttl: waitMs }
    }

    async #look(key: string, windowMs: number, max: number): Promise<FastifyHits> {
      if (max === 0) return { current: 0, ttl: 0 }
      const decision = await this.#limiters.of(max, windowMs).peek(subjectOf(key, ...this.#scope))
      const current = decision.reason === 'blocked' ? max + 1 : max - decision.remaining
      return { current, ttl: toldMs(decision) }
    }
  }
}

function answer(hits: Promise<FastifyHits>, callback: FastifyHitsCallback): void {
  hits.then(
    (found) => callback(null, found),
    (error: Error) => callback(error),
  )
}
