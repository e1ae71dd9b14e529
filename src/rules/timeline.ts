import { addBounded, type CompactCodec, type RuleState } from '../core/rule.ts'
import type { CountedAdjust, CountedStep, RuleFunctions } from './outlive.ts'

/**
 * Costs in the order they were taken: `newestCost` at `atMs`, and before it pairs of time and cost in `older[from..to)`. Each counts for
 * `spanMs`.
 * An immutable view on a buffer that successors share: the usual chain of states appends in place, and a second successor of the
 * same state copies. Requests of one millisecond share a pair, and a single request needs no buffer.
 */
export interface Timeline extends RuleState {
  readonly newestCost: number
  readonly total: number
  readonly spanMs: number
  readonly older: number[]
  readonly from: number
  readonly to: number
}

/** Parameters of a rule that counts what was taken within the last `spanMs`. */
export interface TimelineParameters {
  readonly limit: number
  readonly maxDebt: number
  readonly spanMs: number
  /** Which costs a give-back removes first. */
  readonly returns: 'newest' | 'oldest'
}

/**
 * The functions of a rule that counts what was taken within the last `spanMs`, exactly. What another span has counted leaves when the
 * shorter of the two says so; something new makes all of it count for the rule's own.
 */
export function createTimeline(parameters: TimelineParameters): RuleFunctions<Timeline> {
  return {
    step: (state, nowMs, cost) => stepTimeline(parameters, state, nowMs, cost),
    adjust: (state, nowMs, amount, takenMs) => adjustTimeline(parameters, state, nowMs, amount, takenMs),
  }
}

const stepTimeline: CountedStep<TimelineParameters, Timeline> = ({ limit, spanMs }, state, nowMs, cost) => {
  const live = findLive(state, spanMs, nowMs)
  const passes = live.total + cost <= limit
  const next = passes ? append(live, nowMs, cost, spanMs) : live
  return {
    retryAfterMs: passes ? 0 : timeFreeing(live, cost - (limit - live.total)) + live.spanMs - nowMs,
    remaining: Math.max(0, limit - next.total),
    resetAfterMs: next.total === 0 ? 0 : next.atMs + next.spanMs - nowMs,
    nextAfterMs: next.total === 0 ? 0 : timeFreeing(next, Math.max(1, next.total - limit + 1)) + next.spanMs - nowMs,
    delayMs: 0,
    state: next,
  }
}

const adjustTimeline: CountedAdjust<TimelineParameters, Timeline> = (parameters, state, nowMs, amount, takenMs) => {
  const { limit, maxDebt, spanMs, returns } = parameters
  const live = findLive(state, spanMs, nowMs)
  const added = addBounded(live.total, amount, limit + maxDebt) - live.total
  const next = amount < 0 ? remove(live, -amount, returns, takenMs) : append(live, nowMs, added, spanMs)
  return { state: next.total === 0 ? undefined : next, returned: Math.max(0, live.total - next.total) }
}

/** A timeline of one or two pairs as numbers. A longer one is better kept whole: to unpack it would take longer than to decide. */
export const compactTimelineCodec: CompactCodec<Timeline> = {
  count: 5,
  fits: ({ from, to }) => to - from <= 2,
  write({ atMs, newestCost, spanMs, older, from, to }, row, at) {
    row[at] = atMs
    row[at + 1] = newestCost
    row[at + 2] = from < to ? (older[from] as number) : 0
    row[at + 3] = from < to ? (older[from + 1] as number) : 0
    row[at + 4] = spanMs
  },
  read(row, at) {
    const newestCost = row[at + 1] as number
    const olderCost = row[at + 3] as number
    const older = olderCost === 0 ? NONE : [row[at + 2] as number, olderCost]
    return {
      atMs: row[at] as number,
      newestCost,
      total: newestCost + olderCost,
      spanMs: row[at + 4] as number,
      older,
      from: 0,
      to: older.length,
    }
  },
}

function empty(atMs: number, spanMs: number): Timeline {
  return { atMs, newestCost: 0, total: 0, spanMs, older: NONE, from: 0, to: 0 }
}

/** The view of what still counts at `nowMs`, for no longer than `spanMs`. */
function findLive(state: Timeline | undefined, spanMs: number, nowMs: number): Timeline {
  if (state === undefined) return empty(nowMs, spanMs)
  const line = moveBack(state.spanMs <= spanMs ? state : { ...state, spanMs }, nowMs)
  return dropUntil(line, nowMs - line.spanMs)
}

/** The view without what was taken at or before `untilMs`. */
function dropUntil(line: Timeline, untilMs: number): Timeline {
  if (line.atMs <= untilMs) return empty(line.atMs, line.spanMs)
  let { from, total } = line
  for (; from < line.to && (line.older[from] as number) <= untilMs; from += 2) total -= line.older[from + 1] as number
  return from === line.from ? line : { ...line, from, total }
}

/** The time of the pair with which at least `amount` has left, oldest first. */
function timeFreeing(line: Timeline, amount: number): number {
  for (let at = line.from, freed = 0; at < line.to; at += 2) {
    freed += line.older[at + 1] as number
    if (freed >= amount) return line.older[at] as number
  }
  return line.atMs
}

function append(line: Timeline, nowMs: number, added: number, spanMs: number): Timeline {
  if (added === 0) return line
  const total = line.total + added
  if (line.total === 0) return { atMs: nowMs, newestCost: added, total, spanMs, older: NONE, from: 0, to: 0 }
  if (line.atMs === nowMs) return { ...line, newestCost: line.newestCost + added, total, spanMs }
  // A literal holds just one pair, where `push` would reserve room for many.
  if (line.from === line.to)
    return { atMs: nowMs, newestCost: added, total, spanMs, older: [line.atMs, line.newestCost], from: 0, to: 2 }
  const { older, from, to } = appendable(line)
  older.push(line.atMs, line.newestCost)
  return { atMs: nowMs, newestCost: added, total, spanMs, older, from, to: to + 2 }
}

// Appending in place is safe only at the end of the buffer; and what has left the window is dropped once it is the larger part.
function appendable(line: Timeline): Pick<Timeline, 'older' | 'from' | 'to'> {
  const inPlace = line.to === line.older.length && line.from <= line.to / 2
  return inPlace ? line : { older: line.older.slice(line.from, line.to), from: 0, to: line.to - line.from }
}

/** The view after giving back up to `amount`, of what was taken at `takenMs` only if that is given. */
function remove(line: Timeline, amount: number, returns: 'newest' | 'oldest', takenMs: number | undefined): Timeline {
  const pairs = [...line.older.slice(line.from, line.to), line.atMs, line.newestCost]
  let left = amount
  const step = returns === 'newest' ? -2 : 2
  for (let at = step < 0 ? pairs.length - 1 : 1; left > 0 && at > 0 && at < pairs.length; at += step) {
    if (takenMs !== undefined && pairs[at - 1] !== takenMs) continue
    const removed = Math.min(left, pairs[at] as number)
    pairs[at] = (pairs[at] as number) - removed
    left -= removed
  }
  const total = line.total - (amount - left)
  if (total === 0) return empty(line.atMs, line.spanMs)
  const older = pairs.filter((_, index) => (pairs[index | 1] as number) > 0)
  const [atMs, newestCost] = older.splice(-2) as [number, number]
  return { atMs, newestCost, total, spanMs: line.spanMs, older, from: 0, to: older.length }
}

// The clock was set back for good: every time moves by as much, so that all that was taken still counts.
function moveBack(line: Timeline, nowMs: number): Timeline {
  const backMs = line.atMs - nowMs
  if (backMs <= 0) return line
  const older = line.older.slice(line.from, line.to)
  for (let at = 0; at < older.length; at += 2) older[at] = (older[at] as number) - backMs
  return { ...line, atMs: nowMs, older, from: 0, to: older.length }
}

// Frozen, because all keys share it.
const NONE: number[] = Object.freeze<number[]>([]) as number[]
