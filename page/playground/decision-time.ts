import type { Rule } from '../../src/core/rule.ts'
import { SimulatedStore } from '../../src/simulate/simulated-store.ts'
import type { Arrival, Trace } from '../../src/simulate/simulation.ts'

/**
 * How long one decision takes, in nanoseconds, over the first requests of a trace again and again, the best of several rounds:
 * browsers blur their clocks, compile what is used often, and are interrupted, so a short simulation would measure none of it. `undefined` when there are no requests.
 */
export function decisionTimeNs(rule: Rule, trace: Trace, nowNs: () => number): number | undefined {
  const arrivals = takeFirst(trace, MOST_ARRIVALS)
  if (arrivals.length === 0) return undefined
  const passes = Math.ceil(DECISIONS / arrivals.length)
  let leastNs = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const startNs = nowNs()
    for (let pass = 0; pass < passes; pass++) new SimulatedStore(rule).decideAll(arrivals, [])
    leastNs = Math.min(leastNs, nowNs() - startNs)
  }
  return leastNs / (passes * arrivals.length)
}

function takeFirst(trace: Trace, most: number): Arrival[] {
  const arrivals: Arrival[] = []
  for (const arrival of trace) {
    if (arrivals.length === most) break
    arrivals.push(arrival)
  }
  return arrivals
}

const MOST_ARRIVALS = 2_000
const DECISIONS = 4_000
const ROUNDS = 5
