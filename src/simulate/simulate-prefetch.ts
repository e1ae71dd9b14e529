import { wholeNumber } from '../core/check.ts'
import type { PrefetchTerms } from '../core/limit.ts'
import { ProcessGroup } from './process-group.ts'
import type { Contestant, Simulation } from './simulation.ts'

/** A rule that is played with prefetch and without it. */
export interface PrefetchContestant extends Contestant {
  readonly prefetch: PrefetchTerms
}

/** What processes made of the same requests, with prefetch and without it. */
export interface PrefetchResult {
  readonly name: string
  readonly kind: string
  readonly limit: number
  readonly requests: number
  /** Sums of cost. */
  readonly offered: number
  readonly admitted: number
  readonly admittedWithout: number
  /** What passed without prefetch, and not with it: it lay unused in processes. */
  readonly lost: number
  /** How often the server was asked. Calls of one turn count each, though a store sends them together. */
  readonly calls: number
  readonly callsWithout: number
  readonly saved: number
  /** Units that came ahead of time, those of them that went back, and those that were neither used nor returned in time. */
  readonly granted: number
  readonly returned: number
  readonly late: number
}

/** How many processes there may be. */
export const MOST_PROCESSES = 1_000

/**
 * Rules that get the same requests, each on two groups of processes that share one server half a millisecond away. Nothing may be offered
 * after its results.
 */
export function createPrefetchSimulation(
  contestants: readonly PrefetchContestant[],
  processes: number,
): Simulation<PrefetchResult> {
  wholeNumber('processes', processes, 1, MOST_PROCESSES)
  const played = contestants.map((contestant) => ({
    contestant,
    prefetching: new ProcessGroup(contestant, processes, contestant.prefetch),
    asking: new ProcessGroup(contestant, processes, undefined),
  }))
  let requests = 0
  let offered = 0
  return {
    offer(arrivals) {
      for (const { prefetching, asking } of played) {
        for (const arrival of arrivals) {
          prefetching.decide(arrival)
          asking.decide(arrival)
        }
      }
      requests += arrivals.length
      offered += arrivals.reduce((sum, { cost }) => sum + cost, 0)
    },
    passTime(untilMs) {
      for (const { prefetching, asking } of played) {
        prefetching.passTime(untilMs)
        asking.passTime(untilMs)
      }
    },
    results: () =>
      played.map(({ contestant: { name, rule }, prefetching, asking }) => {
        prefetching.rest()
        asking.rest()
        const { granted, returned, late } = prefetching.units
        return {
          name,
          kind: rule.kind,
          limit: rule.limit,
          requests,
          offered,
          admitted: prefetching.admitted,
          admittedWithout: asking.admitted,
          lost: Math.max(0, asking.admitted - prefetching.admitted),
          calls: prefetching.calls,
          callsWithout: asking.calls,
          saved: asking.calls - prefetching.calls,
          granted,
          returned,
          late,
        }
      }),
  }
}
