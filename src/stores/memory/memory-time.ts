import { readClock, STORE_TIME, systemClock } from '../../core/clock.ts'
import { MOST_LAG_MS } from '../../engine/key-state.ts'

/** The time of a decision in memory: the given one, or the machine's. */
export function timeOf(givenMs: number): number {
  return givenMs === STORE_TIME ? readClock(systemClock) : givenMs
}

/**
 * By when something has to be expired to be forgotten at `nowMs`. A caller's clock may step back by up to a minute and ask again: as on
 * Redis, what it needs then is still there.
 */
export function forgetsBy(givenMs: number, nowMs: number): number {
  return givenMs === STORE_TIME ? nowMs : Math.max(0, nowMs - MOST_LAG_MS)
}
