import type { Clock } from '../../core/clock.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Store } from '../../core/store.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { composeResponse } from './compose-response.ts'
import type { RateLimitRequest, RateLimitResponse } from './messages.ts'
import { RequestProblem } from './request-problem.ts'
import type { RlsConfig } from './rls-config.ts'
import { RlsDomain } from './rls-domain.ts'

/** What domains decide with, and who wants to know of their limiters. */
export interface RlsSurroundings {
  readonly store: Store
  readonly clock?: Clock | undefined
  /**
   * How long a decision waits for the store; after that this process decides by its share of the limit.
   * @default 500
   */
  readonly timeoutMs?: number
  /** Called with every limiter before its first decision; what it returns is called when the limiter is not asked any more. */
  watch?(limiter: Limiter<string>): () => void
}

interface ManagedDomain {
  readonly domain: RlsDomain
  readonly stop: (() => void) | undefined
}

/** Decides by the rate limits of several domains, which may be replaced while requests are under way. */
export class RlsService {
  readonly #surroundings: RlsSurroundings
  #domains: ReadonlyMap<string, ManagedDomain> = new Map()

  constructor(configs: readonly RlsConfig[], surroundings: RlsSurroundings) {
    this.#surroundings = surroundings
    this.replace(configs)
  }

  /** The limiters in force, one for each domain. */
  limiters(): readonly Limiter<string>[] {
    return [...this.#domains.values()].map(({ domain }) => domain.limiter)
  }

  /** Decides a request. Rejects with a `RequestProblem` when it says too little or too much. */
  async decide(request: RateLimitRequest): Promise<RateLimitResponse> {
    const { domain, descriptors } = request
    if (domain === '') throw new RequestProblem('a request needs a domain')
    if (descriptors.length === 0) throw new RequestProblem('a request needs at least one descriptor')
    const known = this.#domains.get(domain)
    return known === undefined ? composeResponse(descriptors.map(() => undefined)) : known.domain.decide(request)
  }

  /** Puts other rate limits in force, all of them or none. A domain that says the same as before keeps its limiter. */
  replace(configs: readonly RlsConfig[]): void {
    const before = this.#domains
    const after = new Map<string, RlsConfig>()
    for (const config of configs) {
      if (after.has(config.domain)) {
        throw new LimiterError('INVALID_OPTION', `each domain has one file, got two for "${config.domain}"`)
      }
      after.set(config.domain, config)
    }
    this.#domains = new Map(configs.map((config) => [config.domain, this.#keepOrMake(config, before)]))
    for (const managed of before.values()) {
      if (this.#domains.get(managed.domain.config.domain) !== managed) void end(managed)
    }
  }

  /** Ends all limiters, and resolves when every decision that was asked for has its answer. */
  async close(): Promise<void> {
    await Promise.all([...this.#domains.values()].map(end))
  }

  #keepOrMake(config: RlsConfig, before: ReadonlyMap<string, ManagedDomain>): ManagedDomain {
    const kept = before.get(config.domain)
    if (kept?.domain.config.text === config.text) return kept
    const { store, clock, timeoutMs = 500, watch } = this.#surroundings
    const domain = new RlsDomain(config, store, clock, timeoutMs)
    return { domain, stop: watch?.(domain.limiter) }
  }
}

async function end({ domain, stop }: ManagedDomain): Promise<void> {
  await domain.close()
  stop?.()
}
