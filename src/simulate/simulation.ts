import type { Rule } from '../core/rule.ts'

/** One request of a trace, on virtual time. Traces are in order of time. */
export interface Arrival {
  /** Whole milliseconds. */
  readonly atMs: number
  readonly key: string
  readonly cost: number
}

/** A rule that takes part in a simulation, under a name. */
export interface Contestant {
  readonly name: string
  readonly rule: Rule
}

/** What one rule made of a trace. */
export interface Result {
  readonly name: string
  readonly kind: string
  /** Sums of cost. */
  readonly offered: number
  readonly admitted: number
  readonly refused: number
  /** The most that passed for one key in any stretch of one window, found exactly; and that by the limit. */
  readonly worstWindow: number
  readonly worstOverLimit: number
  /** The most keys that had state at once, and the numbers they kept, eight bytes each. */
  readonly peakKeys: number
  readonly peakBytes: number
  /** Processor time of one decision, measured; `undefined` where no clock was given. */
  readonly nanosecondsPerDecision: number | undefined
  /** Admitted and refused over time, in as many slots as were asked for. */
  readonly slots: readonly Slot[]
}

/** A stretch of the time line. */
export interface Slot {
  readonly fromMs: number
  readonly admitted: number
  readonly refused: number
  /** What remained for the watched key at the end of it: how full the bucket is. */
  readonly remaining: number
}
