import { readClock, STORE_TIME, systemClock } from '../../core/clock.ts'

/** The time of a decision in memory: the given one, or the machine's. */
export function timeOf(givenMs: number): number {
  return givenMs === STORE_TIME ? readClock(systemClock) : givenMs
}
