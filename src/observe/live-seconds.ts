import type { Decision } from '../core/decision.ts'
import { DecisionTimes } from './decision-times.ts'
import type { LiveSecond } from './live-report.ts'

interface PolicySecond {
  allowed: number
  refused: number
  readonly byTier: Record<string, number>
}

interface Second {
  number: number
  allowed: number
  refused: number
  wouldRefuse: number
  readonly decidedBy: Map<string, number>
  readonly times: DecisionTimes
  readonly byPolicy: Map<string, PolicySecond>
  /** What the last report said of it, until it changes. */
  told: LiveSecond | undefined
}

/** Ten minutes. */
const MOST_SECONDS = 600

/** What was decided in each of the last seconds, in a fixed amount of memory. */
export class LiveSeconds {
  readonly #ring: (Second | undefined)[] = new Array(MOST_SECONDS).fill(undefined)
  #first: number

  constructor(nowMs: number) {
    this.#first = Math.floor(nowMs / 1_000)
  }

  /** Counts a decision. */
  count(policy: string, decision: Decision, tookMs: number | undefined, nowMs: number): void {
    const second = this.#at(Math.floor(nowMs / 1_000))
    const { allowed, limitedBy, wouldRefuse, decidedBy } = decision
    const ofPolicy = second.byPolicy.get(policy) ?? newPolicySecond(second, policy)
    if (allowed) {
      second.allowed++
      ofPolicy.allowed++
    } else {
      second.refused++
      ofPolicy.refused++
    }
    if (limitedBy !== undefined) ofPolicy.byTier[limitedBy] = (ofPolicy.byTier[limitedBy] ?? 0) + 1
    if (wouldRefuse.length > 0) second.wouldRefuse++
    second.decidedBy.set(decidedBy, (second.decidedBy.get(decidedBy) ?? 0) + 1)
    if (tookMs !== undefined) second.times.add(tookMs)
  }

  /** The seconds that are over, oldest first, without gaps. */
  report(nowMs: number): readonly LiveSecond[] {
    const current = Math.floor(nowMs / 1_000)
    this.#first = Math.min(this.#first, current)
    const seconds: LiveSecond[] = []
    for (let number = Math.max(this.#first, current - MOST_SECONDS); number < current; number++) {
      const second = this.#ring[number % MOST_SECONDS]
      seconds.push(second?.number === number ? tell(second) : emptySecond(number))
    }
    return seconds
  }

  // By its number and not by its turn: where a clock is set back, the seconds are counted on.
  #at(number: number): Second {
    const second = this.#ring[number % MOST_SECONDS] ?? newSecond(number)
    this.#ring[number % MOST_SECONDS] = second
    if (second.number !== number) clear(second, number)
    second.told = undefined
    return second
  }
}

function newSecond(number: number): Second {
  const counts = { number, allowed: 0, refused: 0, wouldRefuse: 0 }
  return { ...counts, decidedBy: new Map(), times: new DecisionTimes(), byPolicy: new Map(), told: undefined }
}

function clear(second: Second, number: number): void {
  second.number = number
  second.allowed = second.refused = second.wouldRefuse = 0
  second.decidedBy.clear()
  second.times.clear()
  second.byPolicy.clear()
}

function newPolicySecond({ byPolicy }: Second, policy: string): PolicySecond {
  const ofPolicy = { allowed: 0, refused: 0, byTier: {} }
  byPolicy.set(policy, ofPolicy)
  return ofPolicy
}

function tell(second: Second): LiveSecond {
  const { number, allowed, refused, wouldRefuse, decidedBy, times } = second
  second.told ??= {
    atMs: number * 1_000,
    allowed,
    refused,
    wouldRefuse,
    decidedBy: Object.fromEntries(decidedBy),
    p50Ms: times.percentile(0.5),
    p99Ms: times.percentile(0.99),
    byPolicy: Object.fromEntries([...second.byPolicy].map(([name, ofPolicy]) => [name, { ...ofPolicy }])),
  }
  return second.told
}

function emptySecond(number: number): LiveSecond {
  const none = { allowed: 0, refused: 0, wouldRefuse: 0, p50Ms: null, p99Ms: null }
  return { atMs: number * 1_000, ...none, decidedBy: {}, byPolicy: {} }
}
