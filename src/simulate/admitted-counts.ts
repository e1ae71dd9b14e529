import type { Arrival } from './simulation.ts'

/** Sums what a rule admits for each key, for as long as that counts against the limit. */
export interface AdmittedCounts {
  /** The most that counted for one key at any time. */
  readonly most: number
  /** What counts for the key at `nowMs`. */
  sum(key: string, nowMs: number): number
  /** Adds an admitted request, at `atMs` or later. Of a key, in the order in which they pass. */
  add(arrival: Arrival, passesMs: number): void
}
