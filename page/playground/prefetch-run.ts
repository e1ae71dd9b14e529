import { createPrefetchSimulation, type PrefetchResult } from '../../src/simulate/simulate-prefetch.ts'
import type { Arrival, Contestant, Trace } from '../../src/simulate/simulation.ts'

/** How many requests are played on processes at most: each is decided twice, and travels. */
export const MOST_SHARED = 30_000

/** What every limiter has that says no more than `prefetch: true`. */
const PREFETCH = { maxMs: 100, maxShare: 0.01 }

/** Rules on processes that share the requests, played in parts. */
export interface PrefetchRun {
  /** Plays on until it is done or `isTime` says so, and answers whether it is done. */
  playOn(isTime: () => boolean): boolean
  /** What came of it. Only when it is done. */
  results(): readonly PrefetchResult[]
}

/** Starts to play the first requests of a trace. All of the rules must be able to prefetch. */
export function startPrefetchRun(
  contestants: readonly Contestant[],
  trace: Trace,
  processes: number,
  mostArrivals: number = MOST_SHARED,
): PrefetchRun {
  const simulation = createPrefetchSimulation(
    contestants.map((one) => ({ ...one, prefetch: PREFETCH })),
    processes,
  )
  const arrivals = trace[Symbol.iterator]()
  let played = 0
  return {
    playOn(isTime) {
      while (played < mostArrivals) {
        const part = takePart(arrivals, Math.min(PART, mostArrivals - played))
        if (part.length === 0) return true
        simulation.offer(part)
        played += part.length
        if (isTime()) return false
      }
      return true
    },
    results: () => simulation.results(),
  }
}

// Few enough that four rules decide them within a frame.
const PART = 64

function takePart(arrivals: Iterator<Arrival>, most: number): readonly Arrival[] {
  const part: Arrival[] = []
  while (part.length < most) {
    const next = arrivals.next()
    if (next.done === true) break
    part.push(next.value)
  }
  return part
}
