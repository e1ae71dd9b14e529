import { knownOptions, wholeNumber } from '../core/check.ts'
import { type Clock, readClock, systemClock } from '../core/clock.ts'
import type { Subject } from '../core/key.ts'
import type { LimiterEvents } from '../limiter/events.ts'
import { formatKey } from './format-key.ts'
import { formatShadowReport, type ShadowReport, type ShadowTier } from './format-shadow-report.ts'
import { TopKeys } from './top-keys.ts'
import { assertLimiter, type WatchedLimiter } from './watched-limiter.ts'

/** Options of `shadowReport`. */
export interface ShadowReportOptions {
  /**
   * How many keys are listed for each limit, 0 to 1,000.
   * @default 20
   */
  readonly topKeys?: number
  /**
   * The time of day that is reported.
   * @default systemClock
   */
  readonly clock?: Clock
}

/** A running shadow report. Of fixed size. */
export interface ShadowWatch {
  report(): ShadowReport
  /** The report as lines for people. */
  text(): string
  /** Ends the watching; what was counted can still be reported. */
  stop(): void
}

interface TierCounts {
  requests: number
  refused: number
  firstMs: number | null
  lastMs: number | null
  readonly keys: TopKeys
}

const COUNTERS = 1_000

/**
 * Watches a limiter, and reports which keys its limits rejected, or would have rejected in shadow mode. Made for the days before a
 * limit is enforced.
 */
export function shadowReport(limiter: WatchedLimiter, options: ShadowReportOptions = {}): ShadowWatch {
  knownOptions('shadowReport()', options, ['topKeys', 'clock'])
  assertLimiter('shadowReport()', limiter)
  const { topKeys = 20, clock = systemClock } = options
  wholeNumber('topKeys', topKeys, 0, COUNTERS)
  return new Watch(limiter, topKeys, clock)
}

class Watch implements ShadowWatch {
  readonly stop: () => void
  readonly #limiter: WatchedLimiter
  readonly #topKeys: number
  readonly #clock: Clock
  readonly #fromMs: number
  readonly #counts: ReadonlyMap<string, TierCounts>
  #toMs: number | undefined
  #requests = 0
  #refused = 0

  constructor(limiter: WatchedLimiter, topKeys: number, clock: Clock) {
    this.#limiter = limiter
    this.#topKeys = topKeys
    this.#clock = clock
    this.#fromMs = readClock(clock)
    this.#counts = new Map(Object.keys(limiter.rules).map((name) => [name, createCounts()]))
    const leave = limiter.on('decided', (event) => this.#count(event))
    this.stop = () => {
      leave()
      this.#toMs ??= readClock(clock)
    }
  }

  report(): ShadowReport {
    const { name, rules, shadows } = this.#limiter
    const tiers = [...this.#counts].map(([tierName, counts]): ShadowTier => {
      const { requests, refused, firstMs, lastMs, keys } = counts
      const { kind, limit } = rules[tierName] as { kind: string; limit: number }
      const about = { name: tierName, kind, limit, isShadow: shadows.includes(tierName) }
      const refusedKeys = keys.all().length < COUNTERS ? keys.all().length : null
      return { ...about, requests, refused, firstMs, lastMs, refusedKeys, keys: this.#listed(keys) }
    })
    const toMs = this.#toMs ?? readClock(this.#clock)
    return { limiter: name, fromMs: this.#fromMs, toMs, requests: this.#requests, refused: this.#refused, tiers }
  }

  text(): string {
    return formatShadowReport(this.report())
  }

  #listed(keys: TopKeys): ShadowTier['keys'] {
    const most = [...keys.all()].sort((one, other) => other.refused - one.refused).slice(0, this.#topKeys)
    return most.map(({ key, refused, error }) => ({ key, refused, error }))
  }

  #count({ key, decision }: LimiterEvents['decided']): void {
    this.#requests++
    if (!decision.allowed) this.#refused++
    for (const [name, counts] of this.#counts) {
      const verdict = decision.tiers[name]
      const isAlone = this.#counts.size === 1 && verdict === undefined
      if (verdict === undefined && !isAlone) continue
      counts.requests++
      const allowed = verdict?.allowed ?? (decision.allowed && decision.wouldRefuse.length === 0)
      if (!allowed) note(counts, formatSubject(key, name), readClock(this.#clock))
    }
  }
}

function createCounts(): TierCounts {
  return { requests: 0, refused: 0, firstMs: null, lastMs: null, keys: new TopKeys(COUNTERS) }
}

function note(counts: TierCounts, key: string, nowMs: number): void {
  counts.refused++
  counts.firstMs ??= nowMs
  counts.lastMs = nowMs
  counts.keys.count(key, false)
}

/** What one limit counted by: its own subject where the key has one for each. */
function formatSubject(key: LimiterEvents['decided']['key'], tier: string): string {
  const isOwn = typeof key === 'object' && !('kind' in key)
  return formatKey(isOwn ? (key[tier] as Subject) : key, [])
}
