import { type Clock, readClock, systemClock } from '../core/clock.ts'
import type { Decision } from '../core/decision.ts'
import type { Rule } from '../core/rule.ts'
import { formatKey } from './format-key.ts'
import { LastRefusals } from './last-refusals.ts'
import type { LiveKey, LivePolicy, LiveRefusal, LiveReport, LiveTier } from './live-report.ts'
import { LiveSeconds } from './live-seconds.ts'
import { OutageLog } from './outage-log.ts'
import { RecentKeys } from './recent-keys.ts'
import type { KeyCount } from './top-keys.ts'
import { assertLimiter, type WatchedLimiter } from './watched-limiter.ts'

/** The last ten minutes of the limiters that it watches. Of fixed size, whatever number of keys there are. */
export interface LiveBoard {
  /**
   * Watches a limiter as the policy of its name, until the function that it returns is called. Limiters of one name, such as one
   * that takes over from another, are one policy: the last of them says what its rules are, and counts go on.
   */
  watch(limiter: WatchedLimiter): () => void
  report(): BoardReport
  /** The last five refusals at most of a key, as reports write it, the newest first. Those of the last thousand refused keys are kept. */
  listRefusals(policy: string, key: string): readonly LiveRefusal[]
}

/** The part of a live report that a board knows. */
export type BoardReport = Pick<
  LiveReport,
  'policies' | 'seconds' | 'keysSinceMs' | 'busiest' | 'mostRefused' | 'outages'
>

/** Options of `createLiveBoard`. */
export interface LiveBoardOptions {
  /**
   * The time of day that seconds are named by.
   * @default systemClock
   */
  readonly clock?: Clock
}

interface PolicyCounts {
  allowed: number
  refused: number
  readonly byTier: Map<string, { refused: number; near: number }>
  /** The last of them counts. */
  readonly watched: WatchedLimiter[]
}

const COUNTERS = 1_000
const LISTED = 20
const SPAN_MS = 60_000

/** Makes a board that watches no limiter yet. */
export function createLiveBoard({ clock = systemClock }: LiveBoardOptions = {}): LiveBoard {
  return new Board(clock)
}

class Board implements LiveBoard {
  readonly #clock: Clock
  readonly #seconds: LiveSeconds
  readonly #busiest: RecentKeys
  readonly #mostRefused: RecentKeys
  readonly #refusals = new LastRefusals()
  readonly #outages = new OutageLog()
  readonly #counts = new Map<string, PolicyCounts>()

  constructor(clock: Clock) {
    this.#clock = clock
    const nowMs = readClock(clock)
    this.#seconds = new LiveSeconds(nowMs)
    this.#busiest = new RecentKeys(COUNTERS, SPAN_MS, nowMs)
    this.#mostRefused = new RecentKeys(COUNTERS, SPAN_MS, nowMs)
  }

  watch(limiter: WatchedLimiter): () => void {
    assertLimiter('watch()', limiter)
    const { name, health, rules } = limiter
    const counts: PolicyCounts = this.#counts.get(name) ?? { allowed: 0, refused: 0, byTier: new Map(), watched: [] }
    this.#counts.set(name, counts)
    counts.watched.push(limiter)
    const nowMs = (): number => readClock(this.#clock)
    if (health.state === 'degraded') this.#outages.lost(limiter, health.error, nowMs() - health.forMs)
    const tiers = Object.keys(rules)
    const stops = [
      limiter.on('decided', ({ key, decision, tookMs, waited }) => {
        count(counts, decision)
        this.#count(name, formatKey(key, tiers), decision, waited ? undefined : tookMs)
      }),
      limiter.on('nearLimit', ({ tier }) => {
        ensureTier(counts, tier).near++
      }),
      limiter.on('degraded', ({ error }) => this.#outages.lost(limiter, error, nowMs())),
      limiter.on('recovered', () => this.#outages.found(limiter, nowMs())),
    ]
    return () => {
      for (const stop of stops) stop()
      this.#outages.found(limiter, nowMs())
      const place = counts.watched.indexOf(limiter)
      if (place >= 0) counts.watched.splice(place, 1)
    }
  }

  report(): BoardReport {
    const nowMs = readClock(this.#clock)
    return {
      policies: [...this.#counts].flatMap(([name, counts]) => composePolicy(name, counts)),
      seconds: this.#seconds.report(nowMs),
      keysSinceMs: this.#busiest.sinceMs(nowMs),
      busiest: this.#busiest.top(LISTED, nowMs, countRequests).map(composeKey),
      mostRefused: this.#mostRefused.top(LISTED, nowMs, countRefusals).map(composeKey),
      outages: this.#outages.report(),
    }
  }

  listRefusals(policy: string, key: string): readonly LiveRefusal[] {
    return this.#refusals.list(nameKey(key, policy))
  }

  #count(policy: string, key: string, decision: Decision, tookMs: number | undefined): void {
    const nowMs = readClock(this.#clock)
    const { allowed } = decision
    const name = nameKey(key, policy)
    this.#seconds.count(policy, decision, tookMs, nowMs)
    this.#busiest.count(name, allowed, nowMs)
    if (allowed) this.#mostRefused.note(name, true)
    else {
      const { limit, remaining, retryAfterMs, reason, limitedBy } = decision
      this.#mostRefused.count(name, false, nowMs)
      this.#refusals.note(name, { atMs: nowMs, limit, remaining, retryAfterMs, reason, limitedBy })
    }
  }
}

function count(counts: PolicyCounts, { allowed, limitedBy, wouldRefuse }: Decision): void {
  if (allowed) counts.allowed++
  else counts.refused++
  if (limitedBy !== undefined) ensureTier(counts, limitedBy).refused++
  for (const name of wouldRefuse) ensureTier(counts, name).refused++
}

function ensureTier({ byTier }: PolicyCounts, name: string): { refused: number; near: number } {
  const known = byTier.get(name)
  if (known !== undefined) return known
  const tier = { refused: 0, near: 0 }
  byTier.set(name, tier)
  return tier
}

function composePolicy(name: string, counts: PolicyCounts): LivePolicy[] {
  const limiter = counts.watched.at(-1)
  if (limiter === undefined) return []
  const tiers = Object.entries(limiter.rules).map(([tier, rule]) => composeTier(tier, rule, limiter, counts))
  return [{ name, tiers, allowed: counts.allowed, refused: counts.refused }]
}

function composeTier(name: string, rule: Rule, limiter: WatchedLimiter, counts: PolicyCounts): LiveTier {
  const { kind, limit, parameters } = rule
  const isShadow = limiter.shadows.includes(name)
  const isPrefetched = limiter.prefetches.includes(name)
  return { name, kind, limit, parameters, isShadow, isPrefetched, refused: 0, near: 0, ...counts.byTier.get(name) }
}

// A text of a key has no line break.
function nameKey(key: string, policy: string): string {
  return `${key}\n${policy}`
}

function composeKey({ key: text, allowed, refused, error }: KeyCount): LiveKey {
  const [key, policy] = text.split(/\n(.*)/s) as [string, string]
  return { policy, key, allowed, refused, error }
}

function countRequests({ allowed, refused }: KeyCount): number {
  return allowed + refused
}

function countRefusals({ refused }: KeyCount): number {
  return refused
}
