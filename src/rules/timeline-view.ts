import type { RuleState } from '../core/rule.ts'
import { copyWithout, findAbove, findSum, moveRun, type Run, readFirstMs, readLastMs, sumBefore, TIME } from './run.ts'

/** The runs before the last of a long timeline: to refund in one of them copies no other. */
interface Past {
  readonly runs: readonly Run[]
  readonly sum: number
}

/**
 * Costs in the order they were taken: `newestCost` at `atMs`, before it the pairs of a run in `older[from..to)`, and before those the
 * runs of its past. Each counts for `spanMs`.
 * An immutable view on a buffer that successors share: the usual chain of states appends in place, and a second successor of the
 * same state copies. Requests of one millisecond share a pair, and a single request needs no buffer.
 */
export interface Timeline extends RuleState, Omit<Run, 'sum'> {
  readonly newestCost: number
  readonly total: number
  readonly spanMs: number
  readonly past: Past
}

export function empty(atMs: number, spanMs: number): Timeline {
  return { atMs, newestCost: 0, total: 0, spanMs, older: NONE, from: 0, to: 0, past: NO_PAST }
}

/** The view of what still counts at `nowMs`, for no longer than `spanMs`. */
export function findLive(state: Timeline | undefined, spanMs: number, nowMs: number): Timeline {
  if (state === undefined) return empty(nowMs, spanMs)
  const line = state.spanMs <= spanMs ? state : { ...state, spanMs }
  return dropUntil(line.atMs <= nowMs ? line : moveBack(line, nowMs), nowMs - line.spanMs)
}

/** The view without what was taken at or before `untilMs`. */
function dropUntil(line: Timeline, untilMs: number): Timeline {
  if (line.atMs <= untilMs) return empty(line.atMs, line.spanMs)
  if (readOldestMs(line) > untilMs) return line
  const { older, to, past, newestCost } = line
  if (past.runs.length > 0) return dropRuns(line, untilMs)
  const from = findAbove(older, line.from, to, TIME, untilMs)
  return { ...line, from, total: newestCost + ((older[to - 1] as number) - (older[from - 1] as number)) }
}

function dropRuns(line: Timeline, untilMs: number): Timeline {
  const { runs } = line.past
  let gone = 0
  let index = 0
  for (; index < runs.length && readLastMs(runs[index] as Run) <= untilMs; index++) gone += (runs[index] as Run).sum
  const run = runs[index]
  if (run === undefined) return dropUntil({ ...line, total: line.total - gone, past: NO_PAST }, untilMs)
  const from = findAbove(run.older, run.from, run.to, TIME, untilMs)
  const sum = (run.older[run.to - 1] as number) - sumBefore(run, from)
  const total = line.total - gone - (run.sum - sum)
  return { ...line, total, past: createPast([{ ...run, from, sum }, ...runs.slice(index + 1)]) }
}

/** The time of the first pair. */
function readOldestMs({ atMs, older, from, to, past }: Timeline): number {
  if (past.runs.length > 0) return readFirstMs(past.runs[0] as Run)
  return from < to ? (older[from] as number) : atMs
}

/** The time of the pair with which at least `amount` has left, oldest first. */
export function findFreeing(line: Timeline, amount: number): number {
  // Mostly it is the first, and a small function is inlined.
  return amount === 1 ? readOldestMs(line) : searchFreeing(line, amount)
}

function searchFreeing(line: Timeline, amount: number): number {
  let needed = amount
  for (const run of line.past.runs) {
    if (run.sum >= needed) return run.older[findSum(run, needed)] as number
    needed -= run.sum
  }
  const tail = readTail(line)
  return tail.sum >= needed ? (tail.older[findSum(tail, needed)] as number) : line.atMs
}

/** What was taken at a time and still counts. */
export function findCost(line: Timeline, takenMs: number): number {
  if (takenMs === line.atMs) return line.newestCost
  const { runs } = line.past
  let [low, high] = [0, runs.length]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (readLastMs(runs[middle] as Run) < takenMs) low = middle + 1
    else high = middle
  }
  const run = runs[low] ?? readTail(line)
  const at = findAbove(run.older, run.from, run.to, TIME, takenMs - 1)
  return at < run.to && run.older[at] === takenMs ? (run.older[at + 1] as number) - sumBefore(run, at) : 0
}

export function append(line: Timeline, nowMs: number, added: number, spanMs: number): Timeline {
  if (added === 0) return line
  const total = line.total + added
  const { atMs, newestCost, from, to, past } = line
  if (line.total === 0)
    return { atMs: nowMs, newestCost: added, total, spanMs, older: NONE, from: 0, to: 0, past: NO_PAST }
  if (atMs === nowMs) return { ...line, newestCost: newestCost + added, total, spanMs }
  if (from === to || to - from >= LONG) {
    // A literal holds just one pair, where `push` would reserve room for many.
    const older = [atMs, newestCost]
    const before = from === to ? past : createPast([...past.runs, readTail(line)])
    return { atMs: nowMs, newestCost: added, total, spanMs, older, from: 0, to: 2, past: before }
  }
  const tail = appendable(line)
  tail.older.push(atMs, (tail.older[tail.to - 1] as number) + newestCost)
  const { older } = tail
  return { atMs: nowMs, newestCost: added, total, spanMs, older, from: tail.from, to: tail.to + 2, past }
}

// Appending in place is safe only at the end of the buffer; and what has left the window is dropped once it is the larger part, or
// once the sums would not be exact.
function appendable(line: Timeline): Omit<Run, 'sum'> {
  const { older, from, to, newestCost } = line
  const isExact = (older[to - 1] as number) <= Number.MAX_SAFE_INTEGER - newestCost
  return to === older.length && from <= to / 2 && isExact ? line : copyWithout(readTail(line), [])
}

// The clock was set back for good: every time moves by as much, so that all that was taken still counts.
function moveBack(line: Timeline, nowMs: number): Timeline {
  const backMs = line.atMs - nowMs
  const past = createPast(line.past.runs.map((run) => moveRun(run, backMs)))
  const { older, from, to } = moveRun(readTail(line), backMs)
  return { ...line, atMs: nowMs, older, from, to, past }
}

// Frozen, because all keys share it.
export const NONE: number[] = Object.freeze<number[]>([]) as number[]

export const NO_PAST: Past = { runs: [], sum: 0 }

/** How many numbers a run has before another begins. */
const LONG = 4_096

/** The last run of a timeline. */
export function readTail({ older, from, to, total, newestCost, past }: Timeline): Run {
  return { older, from, to, sum: total - newestCost - past.sum }
}

export function createPast(runs: readonly Run[]): Past {
  let sum = 0
  for (const run of runs) sum += run.sum
  return runs.length === 0 ? NO_PAST : { runs, sum }
}
