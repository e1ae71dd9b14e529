import { type DropInOptions, failOpen, parseDropInOptions } from '../drop-in/drop-in-options.ts'
import { composeSubject, countHits, resolveResetMs } from '../drop-in/hits.ts'
import { LimiterCache } from '../drop-in/limiter-cache.ts'
import { applyPenalty, type Penalties, resolvePunishment } from './penalty.ts'

/** The reply of the store to `@fastify/rate-limit`. */
export interface FastifyHits {
  /** Hits in use, or more than `max` for a refusal, which is not counted. */
  readonly current: number
  /** Milliseconds until a request passes after a refusal, otherwise until the client's count is zero. */
  readonly ttl: number
}

/** Takes the hits, or the error of the store. */
export type FastifyHitsCallback = (error: Error | null, hits?: FastifyHits) => void

/** A store of `@fastify/rate-limit`: of the plugin, or of one of its routes. */
export interface FastifyRateLimitStore {
  /**
   * Counts a hit, unless `max` is reached. `timeWindow` in milliseconds. `@fastify/rate-limit` 9 passes `max` and `ban` instead, and the store
   * takes the window from the settings.
   */
  incr(key: string, callback: FastifyHitsCallback, timeWindow: number, max: number): void
  /** As `incr`, but counts nothing. */
  read(key: string, callback: FastifyHitsCallback, timeWindow: number, max: number): void
  /** Makes the store of a route with settings of its own. It counts apart, but together with routes of the same `groupId`. */
  child(settings: object): FastifyRateLimitStore
}

/** The settings of the plugin or of a route that the store uses. */
interface StoreSettings extends Penalties {
  readonly timeWindow?: unknown
  readonly max?: unknown
  readonly groupId?: unknown
  readonly skipOnError?: unknown
  readonly routeInfo?: { readonly method?: unknown; readonly url?: unknown }
}

/**
 * A store for `@fastify/rate-limit` that decides by a rule of Sluice, in memory or on Redis. A refused request is not counted.
 * The plugin wants a class: `app.register(rateLimit, { store: fastifyRateLimitStore() })`.
 */
export function fastifyRateLimitStore(options: DropInOptions = {}): new (settings: object) => FastifyRateLimitStore {
  const shared = parseDropInOptions('fastifyRateLimitStore()', 'fastify-rate-limit', options)
  const usual = new LimiterCache(shared)
  const open = new LimiterCache(failOpen(shared))
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
      passHits(this.#hit(key, ...resolveWindow(this.#settings, timeWindow, max)), callback)
    }

    read(key: string, callback: FastifyHitsCallback, timeWindow: number, max: number): void {
      passHits(this.#look(key, timeWindow, max), callback)
    }

    child(settings: StoreSettings): FastifyRateLimitStore {
      const { groupId, routeInfo } = settings
      if (groupId !== undefined) return new SluiceStore(settings, ['group', groupId])
      // Limits without a route are numbered in the order in which they are made, the same in every process.
      if (routeInfo?.url === undefined) return new SluiceStore(settings, ['made', ++withoutRoute])
      return new SluiceStore(settings, ['route', routeInfo.method, routeInfo.url])
    }

    async #hit(key: string, windowMs: number, max: number): Promise<FastifyHits> {
      if (max === 0) return { current: 1, ttl: windowMs }
      const limiters = this.#limiters
      const limiter = limiters.get(max, windowMs, resolvePunishment(this.#settings, windowMs))
      const subject = composeSubject(key, ...this.#scope)
      const decision = await limiter.consume(subject)
      if (decision.allowed) return { current: countHits(decision, max), ttl: resolveResetMs(decision) }
      const refusal = { limiters, limiter, subject, windowMs, decision }
      const { refusals, waitMs } = await applyPenalty(this.#settings, refusal)
      return { current: max + refusals, ttl: waitMs }
    }

    async #look(key: string, windowMs: number, max: number): Promise<FastifyHits> {
      if (max === 0) return { current: 0, ttl: 0 }
      const decision = await this.#limiters.get(max, windowMs).peek(composeSubject(key, ...this.#scope))
      const current = decision.reason === 'blocked' ? max + 1 : max - decision.remaining
      return { current, ttl: resolveResetMs(decision) }
    }
  }
}

// Version 9 passes `max` and `ban`, later ones `timeWindow` and `max`. Only later ones have a `timeWindow` that is a function.
function resolveWindow({ timeWindow, max }: StoreSettings, third: number, fourth: number): [number, number] {
  if (typeof timeWindow !== 'number') return [third, fourth]
  const isMax = typeof max !== 'number' || fourth === max
  return third === timeWindow && isMax ? [third, fourth] : [timeWindow, third]
}

function passHits(hits: Promise<FastifyHits>, callback: FastifyHitsCallback): void {
  hits.then(
    (found) => callback(null, found),
    (error: Error) => callback(error),
  )
}
