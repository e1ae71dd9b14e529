import type { Clock } from '../../core/clock.ts'
import type { LimitResult } from '../../core/decision.ts'
import { encodeSubject } from '../../core/key.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import { createOperation, type LimitKey } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import { assembleLimiter } from '../../limiter/assemble-limiter.ts'
import { Listeners } from '../../limiter/events.ts'
import type { TieredLimiter } from '../../limiter/tiered-limiter.ts'
import { composeResponse } from './compose-response.ts'
import { findHits, type Hit, OVERRIDE_PATH } from './find-hits.ts'
import type { RateLimitRequest, RateLimitResponse } from './messages.ts'
import { makeDefaultRule } from './rate-limit-rule.ts'
import type { RateLimit, RlsConfig } from './rls-config.ts'
import { UNITS, type Unit } from './units.ts'

/** A key to count, and how much. */
interface Count extends LimitKey {
  readonly subject: string
  readonly rule: Rule
  hits: number
}

/** Decides the requests of one domain. All descriptors of a request are one decision. */
export class RlsDomain {
  readonly config: RlsConfig
  readonly limiter: TieredLimiter
  readonly #limits: ReadonlyMap<string, Limit>
  /** Requests that have no answer yet. Some need two calls of the limiter. */
  #underWay = 0
  #end: (() => void) | undefined

  constructor(config: RlsConfig, store: Store, clock: Clock | undefined, timeoutMs: number) {
    const name = `rls/${config.domain}`
    const limits = config.rateLimits.filter(({ rule }) => rule !== undefined).map((one) => createFileLimit(name, one))
    // Requests bring other numbers each: what is stored says by which it was counted.
    const anyRule = makeDefaultRule(1, UNITS[0] as Unit)
    limits.push(createLimit({ limiter: name, tier: OVERRIDE_PATH, rule: anyRule, rulesVary: true }))
    this.config = config
    this.#limits = new Map(limits.map((limit) => [limit.name, limit]))
    this.limiter = assembleLimiter({
      name,
      limits,
      resolvers: new Map(),
      store,
      ownsStore: false,
      clock,
      events: new Listeners({ name, clock, nearLimitAt: 0.8 }),
      timeoutMs,
      instances: undefined,
      denialCacheMs: 1_000,
      idempotencyTtlMs: 60_000,
      maxQueue: 1,
    })
  }

  async decide(request: RateLimitRequest): Promise<RateLimitResponse> {
    this.#underWay++
    try {
      return await this.#decide(request)
    } finally {
      this.#underWay--
      if (this.#underWay === 0) this.#end?.()
    }
  }

  /** Ends the limiter when every request under way has its answer. */
  async close(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#end = resolve))
    await this.limiter.close()
  }

  async #decide(request: RateLimitRequest): Promise<RateLimitResponse> {
    const hits = findHits(this.config.root, request)
    const counts: Count[] = []
    const places = hits.map((hit) => this.#addCount(counts, hit))
    const isBanned = hits.some((hit) => hit?.rateLimit.requestsPerUnit === 0 && !hit.rateLimit.shadow)
    const results = await this.#count(counts, isBanned)
    return composeResponse(
      hits.map((hit, index) => hit && { rateLimit: hit.rateLimit, result: results[places[index] as number] }),
    )
  }

  /** Adds what a descriptor counts, and returns its place; -1 for none. What is counted twice is one count of both. */
  #addCount(counts: Count[], hit: Hit | undefined): number {
    const rule = hit?.rateLimit.rule
    if (hit === undefined || rule === undefined) return -1
    const limit = this.#limits.get(hit.rateLimit.path) as Limit
    const key = encodeSubject(hit.subject)
    const place = counts.findIndex((count) => count.limit === limit && count.key === key)
    if (place < 0) return counts.push({ limit, rule, subject: hit.subject, key, hits: hit.hits }) - 1
    const count = counts[place] as Count
    count.hits = Math.min(count.hits + hit.hits, Number.MAX_SAFE_INTEGER)
    return place
  }

  /**
   * Takes all counts or none. Where some only look, or where the request is refused anyway, looks at all of them first: a count that
   * refuses a look lets nothing be taken.
   */
  async #count(counts: readonly Count[], isBanned: boolean): Promise<readonly LimitResult[]> {
    if (counts.length === 0) return []
    const taking = counts.filter(({ hits }) => hits > 0)
    if (taking.length === counts.length && !isBanned) return this.#take(counts)
    const looks = counts.map((count) => createOperation(count, 'peek', { rule: count.rule, amount: count.hits || 1 }))
    const seen = await this.limiter.decideEach(looks)
    const isRefused = counts.some(({ limit }, index) => !limit.shadow && seen[index]?.allowed === false)
    if (taking.length === 0 || isBanned || isRefused) return seen
    const taken = [...(await this.#take(taking))]
    return counts.map(({ hits }, index) => (hits > 0 ? taken.shift() : seen[index]) as LimitResult)
  }

  #take(counts: readonly Count[]): Promise<readonly LimitResult[]> {
    const operations = counts.map((count) =>
      createOperation(count, 'consume', { rule: count.rule, amount: count.hits }),
    )
    const key = Object.fromEntries(counts.map(({ limit, subject }) => [limit.name, subject]))
    const cost = Object.fromEntries(counts.map(({ limit, hits }) => [limit.name, hits]))
    return this.limiter.decideEach(operations, key, cost)
  }
}

function createFileLimit(limiter: string, { path, rule, shadow }: RateLimit): Limit {
  return createLimit({ limiter, tier: path, rule: rule as Rule, shadow })
}
