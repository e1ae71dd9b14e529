import { addBounded, type CompactCodec, type Taken } from '../core/rule.ts'
import type { CountedAdjust, CountedStep, RuleFunctions } from './outlive.ts'
import { copyWithout, findAbove, findSum, type Run, readLastMs, SUM, sumBefore } from './run.ts'
import {
  append,
  createPast,
  empty,
  findCost,
  findFreeing,
  findLive,
  NO_PAST,
  NONE,
  readTail,
  type Timeline,
} from './timeline-view.ts'

/** Parameters of a rule that counts what was taken within the last `spanMs`. */
export interface TimelineParameters {
  readonly limit: number
  readonly maxDebt: number
  readonly spanMs: number
  /** Which costs a refund removes first. */
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

/** The wait of a cost after what was taken at some times is refunded, without making that copy. */
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

/** The view after refunding up to `amount`, of what was taken at `takenMs` only if that is given. */
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

/** What is refunded of which time, in the order of the times. */
function findPieces(line: Timeline, taken: readonly Taken[]): [takenMs: number, removed: number][] {
  const pieces = new Map<number, number>()
  for (const { takenMs, left } of taken) pieces.set(takenMs, (pieces.get(takenMs) ?? 0) + left)
  return [...pieces]
    .map(([takenMs, left]): [number, number] => [takenMs, Math.min(left, findCost(line, takenMs))])
    .filter(([, removed]) => removed > 0)
    .sort(([one], [other]) => one - other)
}

/** The view after refunding what was taken at some times. Only the runs of those times are copied. */
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
