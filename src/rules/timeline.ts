import { addBounded, type CompactCodec, type RuleState, type Taken } from '../core/rule.ts'
import type { CountedAdjust, CountedStep, RuleFunctions } from './outlive.ts'
import {
  copyWithout,
  findAbove,
  findSum,
  moveRun,
  type Run,
  readFirstMs,
  readLastMs,
  SUM,
  sumBefore,
  TIME,
} from './run.ts'

/** The runs before the last of a long timeline: to give back in one of them copies no other. */
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
      countTaken: (state, nowMs, takenMs) => findCost(findLive(state, parameters.spanMs, nowMs), takenMs),
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
    retryAfterMs: passes ? 0 : findFreeing(live, cost - (limit - live.total)) + live.spanMs - nowMs,
    remaining: Math.max(0, limit - next.total),
    resetAfterMs: next.total === 0 ? 0 : next.atMs + next.spanMs - nowMs,
    nextAfterMs: next.total === 0 ? 0 : findFreeing(next, overdrawn + 1) + next.spanMs - nowMs,
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
  for (const [takenMs, removed] of pieces) {
    if (findFreeing(live, needed) < takenMs) break
    // It leaves with its time no more, so others have to.
    needed += removed
  }
  return findFreeing(live, needed) + live.spanMs - nowMs
}

/** A timeline of one or two pairs as numbers. A longer one is better kept whole: to unpack it would take longer than to decide. */
export const compactTimelineCodec: CompactCodec<Timeline> = {
  count: 5,
  fits: ({ from, to, past }) => to - from <= 2 && past === NO_PAST,
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
      past: NO_PAST,
    }
  },
}

function empty(atMs: number, spanMs: number): Timeline {
  return { atMs, newestCost: 0, total: 0, spanMs, older: NONE, from: 0, to: 0, past: NO_PAST }
}

/** The view of what still counts at `nowMs`, for no longer than `spanMs`. */
function findLive(state: Timeline | undefined, spanMs: number, nowMs: number): Timeline {
  if (state === undefined) return empty(nowMs, spanMs)
  const line = state.spanMs <= spanMs ? state : { ...state, spanMs }
  return dropUntil(line.atMs <= nowMs ? line : moveBack(line, nowMs), nowMs - line.spanMs)
}

/** The view without what was taken at or before `untilMs`. */
function dropUntil(line: Timeline, untilMs: number): Timeline {
  if (line.atMs <= untilMs) return empty(line.atMs, line.spanMs)
  if (readOldestMs(line) > untilMs) return line
  const { older, to, past, newestCost } = line
  if (past !== NO_PAST) return dropRuns(line, untilMs)
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
  if (past !== NO_PAST) return readFirstMs(past.runs[0] as Run)
  return from < to ? (older[from] as number) : atMs
}

/** The time of the pair with which at least `amount` has left, oldest first. */
function findFreeing(line: Timeline, amount: number): number {
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
function findCost(line: Timeline, takenMs: number): number {
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

function append(line: Timeline, nowMs: number, added: number, spanMs: number): Timeline {
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

/** The view after giving back up to `amount`, of what was taken at `takenMs` only if that is given. */
function remove(line: Timeline, amount: number, returns: 'newest' | 'oldest', takenMs: number | undefined): Timeline {
  if (takenMs !== undefined) return removeTaken(line, [{ takenMs, left: amount }])
  if (amount >= line.total) return empty(line.atMs, line.spanMs)
  return returns === 'newest' ? keepOldest(line, line.total - amount) : removeOldest(line, amount)
}

/** The view of what was taken first, `total` of it. */
function keepOldest(line: Timeline, total: number): Timeline {
  const { runs } = line.past
  let kept = runs.length
  let before = line.past.sum
  while (total <= before) before -= (runs[--kept] as Run).sum
  const past = kept === runs.length ? line.past : createPast(runs.slice(0, kept))
  const tail = runs[kept] ?? readTail(line)
  const { older, from } = tail
  const left = total - before
  if (left > tail.sum) return { ...line, newestCost: left - tail.sum, total }
  const at = findSum(tail, left)
  const newestCost = left - (sumBefore(tail, at) - sumBefore(tail, from))
  return { ...line, atMs: older[at] as number, newestCost, total, older, from, to: at, past }
}

/** The view without the first `amount` of what was taken, which is not all. */
function removeOldest(line: Timeline, amount: number): Timeline {
  const { runs } = line.past
  let index = 0
  let left = amount
  for (; index < runs.length && (runs[index] as Run).sum <= left; index++) left -= (runs[index] as Run).sum
  const total = line.total - amount
  const run = runs[index] ?? readTail(line)
  const from = findAbove(run.older, run.from, run.to, SUM, sumBefore(run, run.from) + left)
  if (index < runs.length) {
    return { ...line, total, past: createPast([{ ...run, from, sum: run.sum - left }, ...runs.slice(index + 1)]) }
  }
  return { ...line, from, total, newestCost: from < run.to ? line.newestCost : total, past: NO_PAST }
}

/** What is given back of which time, in the order of the times. */
function findPieces(line: Timeline, taken: readonly Taken[]): [takenMs: number, removed: number][] {
  const pieces = new Map<number, number>()
  for (const { takenMs, left } of taken) pieces.set(takenMs, (pieces.get(takenMs) ?? 0) + left)
  return [...pieces]
    .map(([takenMs, left]): [number, number] => [takenMs, Math.min(left, findCost(line, takenMs))])
    .filter(([, removed]) => removed > 0)
    .sort(([one], [other]) => one - other)
}

/** The view after giving back what was taken at some times. Only the runs of those times are copied. */
function removeTaken(line: Timeline, taken: readonly Taken[]): Timeline {
  const pieces = findPieces(line, taken)
  let { total, newestCost } = line
  for (const [takenMs, removed] of pieces) {
    total -= removed
    if (takenMs === line.atMs) newestCost -= removed
  }
  if (total === 0) return empty(line.atMs, line.spanMs)
  let next = 0
  const runs = [...line.past.runs, readTail(line)].map((run) => {
    const first = next
    while (next < pieces.length && (pieces[next] as [number, number])[0] <= readLastMs(run)) next++
    return next === first ? run : copyWithout(run, pieces.slice(first, next))
  })
  const { older, from, to } = runs.pop() as Run
  const past = next === 0 ? line.past : createPast(runs.filter(({ sum }) => sum > 0))
  const copy = { ...line, newestCost, total, older, from, to, past }
  return newestCost > 0 ? copy : keepOldest(copy, total)
}

/** The view as a state to keep: none when nothing counts. */
function keepUsed(line: Timeline): Timeline | undefined {
  return line.total === 0 ? undefined : line
}

// The clock was set back for good: every time moves by as much, so that all that was taken still counts.
function moveBack(line: Timeline, nowMs: number): Timeline {
  const backMs = line.atMs - nowMs
  const past = createPast(line.past.runs.map((run) => moveRun(run, backMs)))
  const { older, from, to } = moveRun(readTail(line), backMs)
  return { ...line, atMs: nowMs, older, from, to, past }
}

// Frozen, because all keys share it.
const NONE: number[] = Object.freeze<number[]>([]) as number[]

const NO_PAST: Past = { runs: [], sum: 0 }

/** How many numbers a run has before another begins. */
const LONG = 4_096

/** The last run of a timeline. */
function readTail({ older, from, to, total, newestCost, past }: Timeline): Run {
  return { older, from, to, sum: total - newestCost - past.sum }
}

function createPast(runs: readonly Run[]): Past {
  let sum = 0
  for (const run of runs) sum += run.sum
  return runs.length === 0 ? NO_PAST : { runs, sum }
}
