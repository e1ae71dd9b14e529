import type { Rule } from '../core/rule.ts'

/** One request of a trace, on virtual time. Traces are in order of time. */
export interface Arrival {
  /** Whole milliseconds, not negative. */
  readonly atMs: number
  readonly key: string
  /** A whole number of at least 1. */
  readonly cost: number
  /**
   * How long its work takes. A rule that counts work in progress gets the permit back then. Absent: the permit comes back when its
   * lease ends.
   */
  readonly workMs?: number | undefined
}

/** Requests in order of time. May be gone through again, and gives the same ones then. */
export interface Trace extends Iterable<Arrival> {
  /** The stretch of time that it is about, if that is known: from the first of these to just before the second. */
  readonly fromMs?: number | undefined
  readonly untilMs?: number | undefined
}

/** A rule that takes part in a simulation, under a name. */
export interface Contestant {
  readonly name: string
  readonly rule: Rule
  /** Blocks a key for this long when it is refused. @default no block */
  readonly blockForMs?: number | undefined
}

/** What one rule made of a trace. */
export interface Result {
  readonly name: string
  readonly kind: string
  readonly limit: number
  /** How many requests came. */
  readonly requests: number
  /** Sums of cost. */
  readonly offered: number
  readonly admitted: number
  readonly refused: number
  /**
   * The most that passed for one key in any stretch of one window, found exactly; and that by the limit. A request that has to wait
   * its turn passes when it is its turn. Of a rule that counts work in progress: the most at once.
   */
  readonly worstWindow: number
  readonly worstOverLimit: number
  /** The most that passed for one key within a hundredth of a window. */
  readonly largestBurst: number
  /**
   * Requests that an exact log of the same limit and window would have decided otherwise after the same history: admitted though
   * the window before them was used up, and refused though there was room in it.
   */
  readonly wronglyAdmitted: number
  readonly wronglyRefused: number
  /** The share of the requests that were decided as by the exact log, 0 to 1. */
  readonly accuracy: number
  /** How long admitted requests had to wait for their turn. Zero unless the rule queues. */
  readonly meanDelayMs: number
  readonly longestDelayMs: number
  /** The most keys that had state at once, and the most that their numbers took, eight bytes each. */
  readonly peakKeys: number
  readonly peakBytes: number
  /** What one decision took by the clock that was given, its look-up of the key included; `undefined` without one. */
  readonly nanosecondsPerDecision: number | undefined
  /** Admitted and refused over time, in at most as many slots as were asked for. */
  readonly slots: readonly Slot[]
}

/** Rules that are asked the same, for traces that come in parts, such as from a file. */
export interface Simulation<Outcome = Result> {
  /** Decides more requests, in order of time and none earlier than those before. */
  offer(arrivals: readonly Arrival[]): void
  /** Moves on to just before `untilMs`, without a request. */
  passTime(untilMs: number): void
  /** What has come of it so far, in the order of the contestants. */
  results(): readonly Outcome[]
}

/** A stretch of the time line. */
export interface Slot {
  readonly fromMs: number
  /** Sums of cost, over all keys. */
  readonly admitted: number
  readonly refused: number
  /** What remained for the watched key at the end of it: how full the bucket is. */
  readonly remaining: number
}
