import { knownOptions, wholeNumber } from '../core/check.ts'
import { type Clock, readClock, systemClock } from '../core/clock.ts'
import type { Subject } from '../core/key.ts'
import type { LimiterEvents } from '../limiter/events.ts'
import { keyText } from './key-text.ts'
import { shadowText } from './shadow-text.ts'
import { TopKeys } from './top-keys.ts'
import { demandLimiter, type WatchedLimiter } from './watched-limiter.ts'

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

/** What limits refused, and what those in the shadow would have refused, since they are watched. Of fixed size. */
export interface ShadowWatch {
  report(): ShadowReport
  /** The report as lines for people. */
  text(): string
  /** Ends the watching; what was counted can still be reported. */
  stop(): void
}

/** What a limiter's limits refused or would have refused. Times are whole milliseconds since 1970. */
export interface ShadowReport {
  readonly limiter: string
  readonly fromMs: number
  readonly toMs: number
  readonly requests: number
  readonly refused: number
  readonly tiers: readonly ShadowTier[]
}

/** What one limit refused or, in the shadow, would have refused. */
export interface ShadowTier {
  readonly name: string
  /** As the rule calls itself, such as `token-bucket`. */
  readonly kind: string
  readonly limit: number
  readonly isShadow: boolean
  /** The requests that this limit was asked about. */
  readonly requests: number
  readonly refused: number
  readonly firstMs: number | null
  readonly lastMs: number | null
  /** How many different keys that was about; `null` when they were more than a thousand. */
  readonly refusedKeys: number | null
  /** Those with most of it, the most first. At most `error` of a key's refusals are missing, and none is too many. */
  readonly keys: readonly { readonly key: string; readonly refused: number; readonly error: number }[]
}

interface TierTally {
  requests: number
  refused: number
  firstMs: number | null
  lastMs: number | null
  readonly keys: TopKeys
}

const COUNTERS = 1_000

/**
 * Watches what a limiter decides, and reports what its limits in the shadow would have refused, and whom, beside what the others did
 * refuse. Made for the days before a limit is enforced.
 */
export function shadowReport(limiter: WatchedLimiter, options: ShadowReportOptions = {}): ShadowWatch {
  knownOptions('shadowReport()', options, ['topKeys', 'clock'])
  demandLimiter('shadowReport()', limiter)
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
  readonly #tallies: ReadonlyMap<string, TierTally>
  #toMs: number | undefined
  #requests = 0
  #refused = 0

  constructor(limiter: WatchedLimiter, topKeys: number, clock: Clock) {
    this.#limiter = limiter
    this.#topKeys = topKeys
    this.#clock = clock
    this.#fromMs = readClock(clock)
    this.#tallies = new Map(Object.keys(limiter.rules).map((name) => [name, newTally()]))
    const leave = limiter.on('decided', (event) => this.#count(event))
    this.stop = () => {
      leave()
      this.#toMs ??= readClock(clock)
    }
  }

  report(): ShadowReport {
    const { name, rules, shadows } = this.#limiter
    const tiers = [...this.#tallies].map(([tierName, tally]): ShadowTier => {
      const { requests, refused, firstMs, lastMs, keys } = tally
      const { kind, limit } = rules[tierName] as { kind: string; limit: number }
      const about = { name: tierName, kind, limit, isShadow: shadows.includes(tierName) }
      const refusedKeys = keys.all().length < COUNTERS ? keys.all().length : null
      return { ...about, requests, refused, firstMs, lastMs, refusedKeys, keys: this.#listed(keys) }
    })
    const toMs = this.#toMs ?? readClock(this.#clock)
    return { limiter: name, fromMs: this.#fromMs, toMs, requests: this.#requests, refused: this.#refused, tiers }
  }

  text(): string {
    return shadowText(this.report())
  }

  #listed(keys: TopKeys): ShadowTier['keys'] {
    const most = [...keys.all()].sort((one, other) => other.refused - one.refused).slice(0, this.#topKeys)
    return most.map(({ key, refused, error }) => ({ key, refused, error }))
  }

  #count({ key, decision }: LimiterEvents['decided']): void {
    this.#requests++
    if (!decision.allowed) this.#refused++
    for (const [name, tally] of this.#tallies) {
      const verdict = decision.tiers[name]
      const isAlone = this.#tallies.size === 1 && verdict === undefined
      if (verdict === undefined && !isAlone) continue
      tally.requests++
      const allowed = verdict?.allowed ?? (decision.allowed && decision.wouldRefuse.length === 0)
      if (!allowed) note(tally, subjectText(key, name), readClock(this.#clock))
    }
  }
}

function newTally(): TierTally {
  return { requests: 0, refused: 0, firstMs: null, lastMs: null, keys: new TopKeys(COUNTERS) }
}

function note(tally: TierTally, key: string, nowMs: number): void {
  tally.refused++
  tally.firstMs ??= nowMs
  tally.lastMs = nowMs
  tally.keys.count(key, false)
}

/** What one limit counted by: its own subject where the key has one for each. */
function subjectText(key: LimiterEvents['decided']['key'], tier: string): string {
  const isOwn = typeof key === 'object' && !('kind' in key)
  return keyText(isOwn ? (key[tier] as Subject) : key, [])
}
