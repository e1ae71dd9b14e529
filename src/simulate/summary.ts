import { listRuleVariants } from './rule-variants.ts'
import { simulate } from './simulate.ts'
import type { Result, Trace } from './simulation.ts'
import { adversary, bursts, poisson } from './traffic.ts'

/** What was measured of one rule. Pairs are at the small limit and at the large one: what grows with the limit shows. */
export interface RuleSummary {
  readonly name: string
  readonly kind: string
  readonly byTraffic: Readonly<Record<'poisson' | 'bursts' | 'adversary', TrafficSummary>>
  /** The most that passed for one key in any stretch of one window, by the limit, on the worst of the traffic. */
  readonly worstOverLimit: number
  /** The most that passed within a hundredth of a window, by the limit, when an adversary came. */
  readonly burstOverLimit: number
  readonly bytesPerKey: readonly [number, number]
  /** Absent without a clock. */
  readonly nanosecondsPerDecision: readonly [number, number] | undefined
}

/** How exact a rule was on one kind of traffic. */
interface TrafficSummary {
  /** The share of the requests decided as an exact log would have after the same history, 0 to 1. */
  readonly accuracy: number
  /** What passed in all, by what an exact log let pass. */
  readonly admittedByExact: number
}

/** Options of `summarize`. */
export interface SummaryOptions {
  /** @default 100 */
  readonly limit?: number | undefined
  /** @default 10_000 */
  readonly largeLimit?: number | undefined
  /** @default 60_000 */
  readonly windowMs?: number | undefined
  /** How many windows of each kind of traffic. @default 120 */
  readonly windows?: number | undefined
  /** How many decisions the time of one is measured over, at each limit. @default 50_000 */
  readonly decisions?: number | undefined
  /** A clock in nanoseconds. @default no times are measured */
  readonly nowNs?: (() => number) | undefined
}

/** Measures every rule that limits a number in a time, all with the same limit for the same window and on the same traffic. */
export function summarize(options: SummaryOptions = {}): readonly RuleSummary[] {
  const { limit = 100, largeLimit = 10_000, windowMs = 60_000, windows = 120 } = options
  const durationMs = windows * windowMs
  const overload = (1_200 * limit) / windowMs
  const played = {
    poisson: play(limit, windowMs, poisson({ perSecond: overload, durationMs })),
    bursts: play(limit, windowMs, burstsFor(limit, windowMs, durationMs)),
    adversary: play(limit, windowMs, adversary({ limit, windowMs, durationMs })),
  }
  const small = costsAt(limit, windowMs, options)
  const large = costsAt(largeLimit, windowMs, options)
  return played.poisson.map(({ name, kind }, index) => {
    const at = (results: readonly Result[]): Result => results[index] as Result
    const exactness = (results: readonly Result[]): TrafficSummary => compareWithExact(at(results), results)
    const { poisson, bursts, adversary } = played
    return {
      name,
      kind,
      byTraffic: { poisson: exactness(poisson), bursts: exactness(bursts), adversary: exactness(adversary) },
      worstOverLimit: Math.max(...Object.values(played).map((results) => at(results).worstOverLimit)),
      burstOverLimit: at(adversary).largestBurst / limit,
      bytesPerKey: [at(small).peakBytes, at(large).peakBytes],
      nanosecondsPerDecision: pair(at(small).nanosecondsPerDecision, at(large).nanosecondsPerDecision),
    }
  })
}

function pair(one: number | undefined, other: number | undefined): readonly [number, number] | undefined {
  return one === undefined || other === undefined ? undefined : [one, other]
}

/** Four fifths of the limit within a twenty-fifth of a window, then a pause of half a window. */
function burstsFor(limit: number, windowMs: number, durationMs: number): Trace {
  return bursts({
    burst: Math.ceil(0.8 * limit),
    burstMs: Math.ceil(windowMs / 25),
    pauseMs: Math.ceil(windowMs / 2),
    durationMs,
  })
}

function play(limit: number, windowMs: number, trace: Trace, nowNs?: () => number): readonly Result[] {
  // Rules that count work in progress have no window to be exact in.
  const contestants = listRuleVariants(limit, windowMs).filter(({ rule }) => rule.windowMs !== undefined)
  return simulate(contestants, trace, { nowNs })
}

/** One busy key: what it takes when it is full, and what a decision takes. */
function costsAt(limit: number, windowMs: number, { decisions = 50_000, nowNs }: SummaryOptions): readonly Result[] {
  const perSecond = (1_200 * limit) / windowMs
  // At least until the key is full.
  const durationMs = Math.ceil(Math.max(2 * windowMs, (1_000 * decisions) / perSecond))
  const trace = (seed: number): Trace => poisson({ perSecond, durationMs, seed })
  // Once before it counts: code that runs for the first time is slow.
  if (nowNs !== undefined) play(limit, windowMs, trace(2))
  return play(limit, windowMs, trace(1), nowNs)
}

function compareWithExact({ accuracy, admitted }: Result, all: readonly Result[]): TrafficSummary {
  const exact = all.find(({ kind }) => kind === 'sliding-log') as Result
  return { accuracy, admittedByExact: admitted / exact.admitted }
}
