import { addBounded, type Outcome, type RuleState } from '../core/rule.ts'

/**
 * Costs in the order they were taken; the newest came at `atMs`.
 * An immutable view on a buffer that successors share: the usual chain of states appends in place, and a second successor of
 * the same state copies. Pairs of time and cost lie in `buffer[from..to)`, but the cost of the newest pair is `newestCost`,
 * so that requests of one millisecond share a pair.
 */
export interface Timeline extends RuleState {
  readonly buffer: number[]
  readonly from: number
  readonly to: number
  readonly newestCost: number
  readonly total: number
}

/** Parameters of a rule that counts what was taken within the last `spanMs`. */
export interface TimelineParameters {
  readonly limit: number
  readonly maxDebt: number
  readonly spanMs: number
  /** Which costs a give-back removes first. */
  readonly returns: 'newest' | 'oldest'
}

/** One step of a rule that counts what was taken within the last `spanMs`, exactly. */
export function stepTimeline(
  { limit, maxDebt, spanMs, returns }: TimelineParameters,
  state: Timeline | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
): Outcome<Timeline> {
  const live = state === undefined ? empty(nowMs) : since(movedBack(state, nowMs), nowMs - spanMs)
  const passes = force || live.total + cost <= limit
  const next = !passes ? live : cost < 0 ? without(live, -cost, returns) : taken(live, nowMs, cost, limit + maxDebt)
  return {
    retryAfterMs: passes ? 0 : timeFreeing(live, cost - (limit - live.total)) + spanMs - nowMs,
    remaining: Math.max(0, limit - next.total),
    resetAfterMs: next.total === 0 ? 0 : next.atMs + spanMs - nowMs,
    delayMs: 0,
    state: next,
  }
}

function empty(atMs: number): Timeline {
  return { atMs, buffer: [], from: 0, to: 0, newestCost: 0, total: 0 }
}

function costAt(line: Timeline, at: number): number {
  return at === line.to - 2 ? line.newestCost : (line.buffer[at + 1] as number)
}

/** The view without what was taken at or before `untilMs`. */
function since(line: Timeline, untilMs: number): Timeline {
  let { from, total } = line
  while (from < line.to && (line.buffer[from] as number) <= untilMs) {
    total -= costAt(line, from)
    from += 2
  }
  return from === line.from ? line : { ...line, from, total }
}

/** The time of the pair with which at least `amount` has left, oldest first. */
function timeFreeing(line: Timeline, amount: number): number {
  let at = line.from
  for (let freed = costAt(line, at); freed < amount; freed += costAt(line, at)) at += 2
  return line.buffer[at] as number
}

function taken(line: Timeline, nowMs: number, cost: number, ceiling: number): Timeline {
  const total = addBounded(line.total, cost, ceiling)
  const added = total - line.total
  if (added === 0) return line
  // Most keys of a flood make one request: a literal holds just that, where `push` would reserve room for many.
  if (line.from === line.to) return { atMs: nowMs, buffer: [nowMs, added], from: 0, to: 2, newestCost: added, total }
  if (line.atMs === nowMs) return { ...line, newestCost: line.newestCost + added, total }
  const { buffer, from, to } = owned(line)
  buffer[to - 1] = line.newestCost
  buffer.push(nowMs, added)
  return { atMs: nowMs, buffer, from, to: to + 2, newestCost: added, total }
}

// Appending in place is safe only at the end of the buffer; and what has left the window is dropped once it is the larger part.
function owned(line: Timeline): { buffer: number[]; from: number; to: number } {
  if (line.to === line.buffer.length && line.from <= line.to / 2) return line
  const buffer = line.buffer.slice(line.from, line.to)
  return { buffer, from: 0, to: buffer.length }
}

function without(line: Timeline, amount: number, returns: 'newest' | 'oldest'): Timeline {
  let left = Math.min(amount, line.total)
  const pairs: number[] = []
  for (let at = line.from; at < line.to; at += 2) pairs.push(line.buffer[at] as number, costAt(line, at))
  const total = line.total - left
  for (let at = returns === 'newest' ? pairs.length - 2 : 0; left > 0; at += returns === 'newest' ? -2 : 2) {
    const removed = Math.min(left, pairs[at + 1] as number)
    pairs[at + 1] = (pairs[at + 1] as number) - removed
    left -= removed
  }
  const buffer = pairs.filter((_, index) => (pairs[index | 1] as number) > 0)
  const to = buffer.length
  return {
    atMs: to === 0 ? line.atMs : (buffer[to - 2] as number),
    buffer,
    from: 0,
    to,
    newestCost: buffer[to - 1] ?? 0,
    total,
  }
}

// The clock was set back for good: every time moves by as much, so that all that was taken still counts.
function movedBack(line: Timeline, nowMs: number): Timeline {
  const backMs = line.atMs - nowMs
  if (backMs <= 0) return line
  const buffer: number[] = []
  for (let at = line.from; at < line.to; at += 2) buffer.push((line.buffer[at] as number) - backMs, costAt(line, at))
  return { ...line, atMs: nowMs, buffer, from: 0, to: buffer.length }
}
