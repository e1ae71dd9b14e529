import { addBounded, type CompactCodec, type RuleState, type Taken } from '../core/rule.ts'
import type { CountedAdjust, CountedStep, RuleFunctions } from './outlive.ts'

/**
 * Costs in the order they were taken: `newestCost` at `atMs`, and before it pairs in `older[from..to)`, each of a time and the sum of
 * the costs up to it, from whatever the buffer began with. Each counts for `spanMs`.
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
    bulk: {
      refund: (state, nowMs, taken) => keepUsed(removeTaken(findLive(state, parameters.spanMs, nowMs), taken)),
      countTaken: (state, nowMs, takenMs) => {
        const live = findLive(state, parameters.spanMs, nowMs)
        return readCost(live, findTime(live, takenMs))
      },
      retryAfterMs: (state, nowMs, cost, taken) => retryAfterRefund(parameters, state, nowMs, cost, taken),
    },
  }
}

const stepTimeline: CountedStep<TimelineParameters, Timeline> = ({ limit, spanMs }, state, nowMs, cost) => {
  const live = findLive(state, spanMs, nowMs)
  const passes = live.total + cost <= limit
  const next = passes ? append(live, nowMs, cost, spanMs) : live
  const overdrawn = Math.max(0, next.total - limit)
  return {
    retryAfterMs: passes ? 0 : readTime(live, findFreeing(live, cost - (limit - live.total))) + live.spanMs - nowMs,
    remaining: Math.max(0, limit - next.total),
    resetAfterMs: next.total === 0 ? 0 : next.atMs + next.spanMs - nowMs,
    nextAfterMs: next.total === 0 ? 0 : readTime(next, findFreeing(next, overdrawn + 1)) + next.spanMs - nowMs,
    delayMs: 0,
    state: next,
  }
}

const adjustTimeline: CountedAdjust<TimelineParameters, Timeline> = (parameters, state, nowMs, amount, takenMs) => {
  const { limit, maxDebt, spanMs, returns } = parameters
  const live = findLive(state, spanMs, nowMs)
  const added = addBounded(live.total, amount, limit + maxDebt) - live.total
  const next = amount < 0 ? remove(live, -amount, returns, takenMs) : append(live, nowMs, added, spanMs)
  return { state: keepUsed(next), returned: Math.max(0, live.total - next.total) }
}

/** The wait of a cost after what was taken at some times is given back, without the copy that has it given back. */
function retryAfterRefund(
  { limit, spanMs }: TimelineParameters,
  state: Timeline,
  nowMs: number,
  cost: number,
  taken: readonly Taken[],
): number {
  const live = findLive(state, spanMs, nowMs)
  const pieces = findPieces(live, taken)
  let needed = live.total + cost - limit
  for (const [, removed] of pieces) needed -= removed
  if (needed <= 0) return 0
  for (const [at, removed] of pieces) {
    if (findFreeing(live, needed) < at) break
    // It leaves with its time no more, so others have to.
    needed += removed
  }
  return readTime(live, findFreeing(live, needed)) + live.spanMs - nowMs
}

/** A timeline of one or two pairs as numbers. A longer one is better kept whole: to unpack it would take longer than to decide. */
export const compactTimelineCodec: CompactCodec<Timeline> = {
  count: 5,
  fits: ({ from, to }) => to - from <= 2,
  write({ atMs, newestCost, total, spanMs, older, from, to }, row, at) {
    row[at] = atMs
    row[at + 1] = newestCost
    row[at + 2] = from < to ? (older[from] as number) : 0
    row[at + 3] = total - newestCost
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
  const from = findAbove(line, TIME, untilMs)
  return from === line.from
    ? line
    : { ...line, from, total: line.total - (sumBefore(line, from) - sumBefore(line, line.from)) }
}

/** Where in a pair the time is, and where the sum. */
const TIME = 0
const SUM = 1

/** Where the first pair is of which a part is more than `value`, `to` when there is none. Both parts only rise. */
function findAbove({ older, from, to }: Timeline, part: 0 | 1, value: number): number {
  let low = from
  // Mostly it is one of the first.
  let ahead = 2
  while (low + ahead <= to && (older[low + ahead - 2 + part] as number) <= value) {
    low += ahead
    ahead *= 2
  }
  let high = Math.min(to, low + ahead - 2)
  while (low < high) {
    const middle = low + 2 * Math.floor((high - low) / 4)
    if ((older[middle + part] as number) <= value) low = middle + 2
    else high = middle
  }
  return low
}

/** The sum of the buffer before a pair of the view. */
function sumBefore({ newestCost, total, older, from, to }: Timeline, at: number): number {
  if (at > from) return older[at - 1] as number
  // Counted from the other end, because a part of the first pair may have been given back.
  return from < to ? (older[to - 1] as number) - (total - newestCost) : 0
}

/** Where the pair is with which at least `amount` has left, oldest first. */
function findFreeing(line: Timeline, amount: number): number {
  return findAbove(line, SUM, sumBefore(line, line.from) + amount - 1)
}

/** Where the pair of a time is, or nothing. The newest comes after all others. */
function findTime(line: Timeline, takenMs: number): number | undefined {
  const at = findAbove(line, TIME, takenMs - 1)
  return readTime(line, at) === takenMs ? at : undefined
}

function readTime({ atMs, older, to }: Timeline, at: number): number {
  return at < to ? (older[at] as number) : atMs
}

function readCost(line: Timeline, at: number | undefined): number {
  if (at === undefined) return 0
  return at < line.to ? (line.older[at + 1] as number) - sumBefore(line, at) : line.newestCost
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
  older.push(line.atMs, (older[to - 1] as number) + line.newestCost)
  return { atMs: nowMs, newestCost: added, total, spanMs, older, from, to: to + 2 }
}

// Appending in place is safe only at the end of the buffer; and what has left the window is dropped once it is the larger part, or
// once the sums would not be exact.
function appendable(line: Timeline): Pick<Timeline, 'older' | 'from' | 'to'> {
  const { older, from, to, newestCost } = line
  const isExact = (older[to - 1] as number) <= Number.MAX_SAFE_INTEGER - newestCost
  if (to === older.length && from <= to / 2 && isExact) return line
  const gone = sumBefore(line, from)
  const live = older.slice(from, to)
  for (let at = SUM; at < live.length; at += 2) live[at] = (live[at] as number) - gone
  return { older: live, from: 0, to: live.length }
}

/** The view after giving back up to `amount`, of what was taken at `takenMs` only if that is given. */
function remove(line: Timeline, amount: number, returns: 'newest' | 'oldest', takenMs: number | undefined): Timeline {
  if (takenMs !== undefined) return removeTaken(line, [{ takenMs, left: amount }])
  const total = line.total - amount
  if (total <= 0) return empty(line.atMs, line.spanMs)
  if (returns === 'newest') return endAt(line, findFreeing(line, total), total)
  const from = findAbove(line, SUM, sumBefore(line, line.from) + amount)
  return { ...line, from, total, newestCost: from < line.to ? line.newestCost : total }
}

/** The view of which the pair at `to` is the newest, with as much of it as makes `total`. */
function endAt(line: Timeline, to: number, total: number): Timeline {
  const newestCost = total - (sumBefore(line, to) - sumBefore(line, line.from))
  return { ...line, atMs: readTime(line, to), newestCost, total, to }
}

/** Where the pairs are that something is given back of, and how much, in the order of their times. */
function findPieces(line: Timeline, taken: readonly Taken[]): [at: number, removed: number][] {
  const pieces = new Map<number, number>()
  for (const { takenMs, left } of taken) {
    const at = findTime(line, takenMs)
    if (at !== undefined && left > 0) pieces.set(at, Math.min(readCost(line, at), (pieces.get(at) ?? 0) + left))
  }
  return [...pieces].sort(([one], [other]) => one - other)
}

/** The view after giving back what was taken at some times: a copy, unless that is nothing. */
function removeTaken(line: Timeline, taken: readonly Taken[]): Timeline {
  const pieces = findPieces(line, taken)
  const { from, to } = line
  const older = line.older.slice(from, to)
  let { total, newestCost } = line
  let kept = (pieces[0]?.[0] ?? to) - from
  for (const [index, [at, removed]] of pieces.entries()) {
    total -= removed
    if (at === to) newestCost -= removed
    const next = pieces[index + 1]?.[0] ?? to
    // A pair of which nothing is left goes. The sums of those behind it are less by as much.
    for (let pair = removed < readCost(line, at) ? at : at + 2; pair < next; pair += 2) {
      older[kept++] = line.older[pair] as number
      older[kept++] = (line.older[pair + 1] as number) - (line.total - total)
    }
  }
  if (total === 0) return empty(line.atMs, line.spanMs)
  older.length = kept
  const copy = { ...line, newestCost, total, older, from: 0, to: kept }
  return newestCost > 0 ? copy : endAt(copy, kept - 2, total)
}

/** The view as a state to keep: none when nothing counts. */
function keepUsed(line: Timeline): Timeline | undefined {
  return line.total === 0 ? undefined : line
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
