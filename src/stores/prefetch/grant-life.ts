import type { Moment } from './moment.ts'

/** What the server dates by whole milliseconds may be one later than it said, and so may what this process times by whole milliseconds. */
const ROUNDING_MS = 2
/** How far the clocks of server and process may drift apart: 0.1 %. */
const DRIFT = 1_000
/** What is left is given back this long before the server may count it as spent, where the grant lives long enough for that. */
const LEAST_LEAD_MS = 3

/** When a grant ends, as the process that holds it sees it. */
export interface GrantLife {
  /** Nothing is spent from here on, by either clock. */
  readonly until: Moment
  /** When what is left is given back. */
  readonly returnMs: number
  /** From here on the server may count the whole grant as spent. */
  readonly overMs: number
}

/** For how long after it was asked for a grant may be spent, if the server let it last for `lastsMs`. */
export function measureLifeMs(lastsMs: number): number {
  return lastsMs - ROUNDING_MS - lastsMs / DRIFT
}

/** How long a grant has to last to be spent for `ms` after it was asked for, where the process is fast. */
export function measureLastsMs(ms: number): number {
  return Math.ceil(((ms + Math.max(LEAST_LEAD_MS, ms / 9) + ROUNDING_MS) * DRIFT) / (DRIFT - 1))
}

/**
 * The life of a grant. It counts from before the request was handed to the store: the server decided later.
 *
 * @param recentUnits the units that were asked for in the last `maxMs`.
 */
export function measureLife(
  lastsMs: number,
  asked: Moment,
  arrivedMs: number,
  maxMs: number,
  recentUnits: number,
): GrantLife {
  const lifeMs = measureLifeMs(lastsMs)
  const leadMs = Math.min(
    lifeMs / 2,
    Math.max(Math.min(LEAST_LEAD_MS, lifeMs / 4), lifeMs / 10, (4 * maxMs) / recentUnits),
  )
  const spentMs = Math.min(lifeMs - leadMs, arrivedMs - asked.nowMs + maxMs)
  const until = { nowMs: asked.nowMs + spentMs, dateMs: asked.dateMs + spentMs }
  return { until, returnMs: until.nowMs + 0.75 * leadMs, overMs: asked.nowMs + lifeMs }
}
