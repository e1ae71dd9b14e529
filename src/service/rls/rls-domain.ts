import type { Clock } from '../../core/clock.ts'
import type { Decision, LimitResult } from '../../core/decision.ts'
import { encodeSubject } from '../../core/key.ts'
import { createLimit, type Limit } from '../../core/limit.ts'
import { createOperation, type LimitKey } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'
import type { Store } from '../../core/store.ts'
import { assembleLimiter } from '../../limiter/assemble-limiter.ts'
import { Listeners } from '../../limiter/events.ts'
import type { Amounts, Key } from '../../limiter/options.ts'
import type { TieredLimiter } from '../../limiter/tiered-limiter.ts'
import { applyBans } from './apply-bans.ts'
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

/** What came of some counts. */
interface Counted {
  /** One for each count. */
  readonly results: readonly LimitResult[]
  /** The counts that it was tried to take. */
  readonly taken: readonly Count[]
  /** Absent: nothing was to be counted. */
  readonly decision: Decision | undefined
}

/** Decides the requests of one domain. All descriptors of a request are one decision. */
export class RlsDomain {
  readonly config: RlsConfig
  readonly limiter: TieredLimiter
  readonly #limits: ReadonlyMap<string, Limit>
  /** The name of the store. */
  readonly #store: string
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
    this.#store = store.name
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
    const { events } = this.limiter
    const startedMs = events.startedMs()
    const hits = findHits(this.config.root, request)
    const counts: Count[] = []
    const places = hits.map((hit) => this.#addCount(counts, hit))
    const bans = hits.filter((hit) => hit !== undefined && hit.rateLimit.requestsPerUnit === 0) as Hit[]
    const isBanned = bans.some(({ rateLimit }) => !rateLimit.shadow)
    const { results, taken, decision } = await this.#count(counts, isBanned)
    const told = applyBans(bans, decision, this.#store)
    // Envoy sends a look before the request that takes: one that passes would count twice.
    if (told !== undefined && (taken.length > 0 || !told.allowed || told.wouldRefuse.length > 0)) {
      const parts = taken.length > 0 ? taken : counts
      events.decided(composeKey(parts, bans), composeCost(parts, bans), told, startedMs)
    }
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
  async #count(counts: readonly Count[], isBanned: boolean): Promise<Counted> {
    if (counts.length === 0) return { results: [], taken: [], decision: undefined }
    const taking = counts.filter(({ hits }) => hits > 0)
    if (taking.length === counts.length && !isBanned) return { ...(await this.#take(counts)), taken: counts }
    const looks = counts.map((count) => createOperation(count, 'peek', { rule: count.rule, amount: count.hits || 1 }))
    const seen = await this.limiter.decideEach(looks)
    if (taking.length === 0 || isBanned || !seen.decision.allowed) return { ...seen, taken: [] }
    const { decision, results } = await this.#take(taking)
    const left = [...results]
    const all = counts.map(({ hits }, index) => (hits > 0 ? left.shift() : seen.results[index]) as LimitResult)
    return { decision, results: all, taken: taking }
  }

  #take(counts: readonly Count[]): ReturnType<TieredLimiter['decideEach']> {
    return this.limiter.decideEach(
      counts.map((count) => createOperation(count, 'consume', { rule: count.rule, amount: count.hits })),
    )
  }
}

function createFileLimit(limiter: string, { path, rule, shadow }: RateLimit): Limit {
  return createLimit({ limiter, tier: path, rule: rule as Rule, shadow })
}

/** What listeners hear as the key: a subject for each limit, or that of the limit of 0 where nothing else is asked. */
function composeKey(counts: readonly Count[], bans: readonly Hit[]): Key<string> {
  if (counts.length > 0) return Object.fromEntries(counts.map(({ limit, subject }) => [limit.name, subject]))
  const { rateLimit, subject } = bans[0] as Hit
  return `${rateLimit.path}=${subject}`
}

function composeCost(counts: readonly Count[], bans: readonly Hit[]): Amounts<string> {
  const costs = counts.map(({ limit, hits }) => [limit.name, hits])
  return Object.fromEntries([...costs, ...bans.map(({ rateLimit, hits }) => [rateLimit.path, hits])])
}
