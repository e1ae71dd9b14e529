import { createSimulation } from '../../src/simulate/simulate.ts'
import type { Arrival, Contestant, Result, Trace } from '../../src/simulate/simulation.ts'
import { type FirstRefusal, FirstRefusals } from './first-refusals.ts'

/** How many requests are played at most. What comes after them is left out, and the page says so. */
export const MOST_ARRIVALS = 100_000

/** Into how many slots the time line is cut at most. */
export const SLOTS = 240

/** The key whose level is shown: the one that comes most often. */
export const WATCHED_KEY = 'user:1'

/** A simulation that is played in parts, so that the page answers in between. */
export interface PlaygroundRun {
  /** From 0 to 1. */
  readonly progress: number
  /** Plays on until it is done or `isTime` says so, and answers whether it is done. */
  playOn(isTime: () => boolean): boolean
  /** What came of it. Only when it is done. */
  outcome(): RunOutcome
}

/** What came of a run. */
export interface RunOutcome {
  readonly results: readonly Result[]
  /** For each rule the first requests that it refused. */
  readonly refusals: readonly (readonly FirstRefusal[])[]
  readonly fromMs: number
  readonly untilMs: number
  /** How far it was played when there were more requests than are played. */
  readonly cutAtMs: number | undefined
}

/** What a rule made of the traffic. */
export interface PlayedLane {
  readonly result: Result
  readonly refusals: readonly FirstRefusal[]
  readonly decisionNs: number | undefined
  readonly fromMs: number
  readonly untilMs: number
}

/** Plays a trace in parts, with the same results as `simulate()` in one go. */
export function startRun(
  contestants: readonly Contestant[],
  trace: Trace,
  mostArrivals: number = MOST_ARRIVALS,
): PlaygroundRun {
  const { fromMs = 0, untilMs = 0 } = trace
  const refusals = new Map(
    contestants.map((one) => [one, new FirstRefusals('tiers' in one.rule ? undefined : one.rule.limit)]),
  )
  const simulation = createSimulation(contestants, {
    slots: SLOTS,
    watchedKey: WATCHED_KEY,
    fromMs,
    untilMs,
    onDecision: (contestant, arrival, result) => refusals.get(contestant)?.note(arrival, result),
  })
  const arrivals = trace[Symbol.iterator]()
  let next = arrivals.next()
  let played = 0
  let cutAtMs: number | undefined
  const take = (): Arrival[] => {
    const part: Arrival[] = []
    for (; next.done !== true && part.length < Math.min(PART, mostArrivals - played); next = arrivals.next()) {
      part.push(next.value)
    }
    played += part.length
    return part
  }
  return {
    get progress() {
      return next.done === true ? 1 : Math.max(played / mostArrivals, (next.value.atMs - fromMs) / (untilMs - fromMs))
    },
    playOn(isTime) {
      while (next.done !== true && played < mostArrivals) {
        simulation.offer(take())
        if (isTime()) return false
      }
      if (next.done !== true) cutAtMs = next.value.atMs
      simulation.passTime(cutAtMs ?? untilMs)
      return true
    },
    outcome: () => ({
      results: simulation.results(),
      refusals: [...refusals.values()].map(({ found }) => found),
      fromMs,
      untilMs,
      cutAtMs,
    }),
  }
}

// Enough that looking at the time costs nothing, few enough that four rules decide them well within a frame.
const PART = 256
