/** Where in a pair the time is. */
export const TIME = 0

/** Where in a pair the sum is. */
export const SUM = 1

/** Pairs in `older[from..to)`, each of a time and the sum of the costs up to it, from any beginning. Together they cost `sum`. */
export interface Run {
  readonly older: number[]
  readonly from: number
  readonly to: number
  readonly sum: number
}

/** Where the first pair is of which a part is more than `value`, `to` when there is none. Both parts only rise. */
export function findAbove(older: readonly number[], from: number, to: number, part: 0 | 1, value: number): number {
  let low = from
  // Mostly it is one of the first.
  let stride = 2
  while (low + stride <= to && (older[low + stride - 2 + part] as number) <= value) {
    low += stride
    stride *= 2
  }
  let high = Math.min(to, low + stride - 2)
  while (low < high) {
    const middle = low + 2 * Math.floor((high - low) / 4)
    if ((older[middle + part] as number) <= value) low = middle + 2
    else high = middle
  }
  return low
}

/** Where the pair of a run is with which at least `amount` has left, which is not more than the run has. */
export function findSum(run: Run, amount: number): number {
  return findAbove(run.older, run.from, run.to, SUM, sumBefore(run, run.from) + amount - 1)
}

/** The sum of the buffer before a pair of a run. */
export function sumBefore({ older, from, to, sum }: Run, at: number): number {
  // Counted from the other end, because a part of the first pair may have been refunded.
  return at > from ? (older[at - 1] as number) : ((older[to - 1] ?? 0) as number) - sum
}

/** The time of its first pair. */
export function readFirstMs({ older, from }: Run): number {
  return older[from] as number
}

/** The time of its last pair. */
export function readLastMs({ older, to }: Run): number {
  return older[to - 2] as number
}

/** A copy of a run without some costs, and without the pairs of which nothing is left. */
export function copyWithout(run: Run, pieces: readonly (readonly [takenMs: number, removed: number])[]): Run {
  const older = run.older.slice(run.from, run.to)
  let [kept, sum, next] = [0, 0, 0]
  let before = sumBefore(run, run.from)
  for (let at = run.from; at < run.to; at += 2) {
    const timeMs = run.older[at] as number
    let cost = (run.older[at + 1] as number) - before
    before += cost
    if (pieces[next]?.[0] === timeMs) cost -= pieces[next++]?.[1] as number
    if (cost === 0) continue
    sum += cost
    older[kept++] = timeMs
    older[kept++] = sum
  }
  older.length = kept
  return { older, from: 0, to: kept, sum }
}

/** A copy of a run, all of it earlier by as much. */
export function moveRun({ sum, ...run }: Run, backMs: number): Run {
  const older = run.older.slice(run.from, run.to)
  for (let at = 0; at < older.length; at += 2) older[at] = (older[at] as number) - backMs
  return { older, from: 0, to: older.length, sum }
}
