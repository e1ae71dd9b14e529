import type { Arrival } from './simulation.ts'

/** Counts what passes for each key, for as long as it counts. */
export interface Passed {
  /** The most that counted for one key at any time. */
  readonly most: number
  /** What counts for the key at `nowMs`. */
  sum(key: string, nowMs: number): number
  /** Notes what passes, at `atMs` or later. Of a key, in the order in which it passes. */
  add(arrival: Arrival, passesMs: number): void
}
