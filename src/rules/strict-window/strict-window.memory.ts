import { addBounded, type BulkRefunds, type CompactCodec, type RuleState, type StateCodec } from '../../core/rule.ts'
import type { CountedAdjust, CountedStep, WindowParameters } from '../outlive.ts'

/** The counts of the slice that started at `atMs` (last) and of as many slices before it as the window has, each of `sliceMs`. */
export interface StrictWindowState extends RuleState {
  readonly counts: readonly number[]
  readonly sliceMs: number
}

/** What the strict window knows. */
export type StrictWindowParameters = WindowParameters & { readonly slices: number }

/** One step of the strict window, on slices of that number and length. */
export const stepStrictWindow: CountedStep<StrictWindowParameters, StrictWindowState> = (
  parameters,
  state,
  nowMs,
  cost,
) => {
  const { limit, windowMs, slices } = parameters
  const sliceMs = measureSlice(windowMs, slices)
  const atMs = findStart(nowMs, sliceMs)
  const counts = shiftCounts(state, atMs, slices + 1)
  let used = sum(counts)
  const passes = used + cost <= limit
  const retryAfterMs = passes ? 0 : atMs + slicesUntilFree(counts, cost - (limit - used)) * sliceMs - nowMs
  if (passes) {
    counts[slices] = (counts[slices] as number) + cost
    used += cost
  }
  return {
    retryAfterMs,
    remaining: Math.max(0, limit - used),
    resetAfterMs: used === 0 ? 0 : atMs + slicesUntilEmpty(counts) * sliceMs - nowMs,
    nextAfterMs: used === 0 ? 0 : atMs + slicesUntilFree(counts, Math.max(1, used - limit + 1)) * sliceMs - nowMs,
    delayMs: 0,
    state: { atMs, counts, sliceMs },
  }
}

/** One adjustment of the strict window, on slices of that number and length. */
export const adjustStrictWindow: CountedAdjust<StrictWindowParameters, StrictWindowState> = (
  parameters,
  state,
  nowMs,
  amount,
  takenMs,
) => {
  const { limit, windowMs, slices, maxDebt } = parameters
  const sliceMs = measureSlice(windowMs, slices)
  const atMs = findStart(nowMs, sliceMs)
  const counts = shiftCounts(state, atMs, slices + 1)
  const used = sum(counts)
  if (amount < 0) {
    const only = takenMs === undefined ? undefined : findSlice(takenMs, atMs, slices, sliceMs)
    const returned = giveBack(counts, -amount, only ?? slices, only ?? 0)
    return { state: returned === used ? undefined : { atMs, counts, sliceMs }, returned }
  }
  const total = addBounded(used, amount, limit + maxDebt)
  counts[slices] = (counts[slices] as number) + (total - used)
  return { state: total === 0 ? undefined : { atMs, counts, sliceMs }, returned: 0 }
}

/** Many refunds at once, on slices of any number and length. */
export const bulkStrictWindow: BulkRefunds<StrictWindowState> = {
  refund(state, nowMs, taken) {
    const { sliceMs } = state
    const slices = state.counts.length - 1
    const atMs = findStart(nowMs, sliceMs)
    const counts = shiftCounts(state, atMs, slices + 1)
    for (const { takenMs, left } of taken) {
      const slice = findSlice(takenMs, atMs, slices, sliceMs)
      giveBack(counts, left, slice, slice)
    }
    return sum(counts) === 0 ? undefined : { atMs, counts, sliceMs }
  },
  countTaken(state, nowMs, takenMs) {
    const { counts, sliceMs } = state
    const atMs = findStart(nowMs, sliceMs)
    const slice = findSlice(takenMs, atMs, counts.length - 1, sliceMs)
    return slice < 0 ? 0 : (counts[slice + countPassed(state, atMs)] ?? 0)
  },
}

/** The parameters that counted a state, with the limit of these. */
export function readStrictWindow(
  parameters: StrictWindowParameters,
  { counts, sliceMs }: StrictWindowState,
): StrictWindowParameters {
  const slices = counts.length - 1
  if (slices === parameters.slices && sliceMs === measureSlice(parameters.windowMs, slices)) return parameters
  return { ...parameters, slices, windowMs: slices * sliceMs }
}

function measureSlice(windowMs: number, slices: number): number {
  return Math.ceil(windowMs / slices)
}

/** When the slice of `timeMs` started. Rounds down also before 1970, as Lua's `%` does. */
function findStart(timeMs: number, sliceMs: number): number {
  return Math.floor(timeMs / sliceMs) * sliceMs
}

/** Which slice a time was counted in, of those until the one that starts at `atMs`. Below zero when it has left. */
function findSlice(takenMs: number, atMs: number, slices: number, sliceMs: number): number {
  return slices - Math.max(0, (atMs - findStart(takenMs, sliceMs)) / sliceMs)
}

function sum(counts: readonly number[]): number {
  let total = 0
  for (const count of counts) total += count
  return total
}

/** The counts of the live slices as of the slice that starts at `atMs`, oldest first. Always a copy. */
function shiftCounts(state: StrictWindowState | undefined, atMs: number, live: number): number[] {
  const counts = new Array<number>(live).fill(0)
  if (state === undefined) return counts
  const passed = countPassed(state, atMs)
  for (let slice = passed; slice < live; slice++) counts[slice - passed] = state.counts[slice] as number
  return counts
}

/** How many slices have begun since the newest of a state, until the one that starts at `atMs`. */
function countPassed(state: StrictWindowState, atMs: number): number {
  return Math.max(0, Math.round((atMs - state.atMs) / state.sliceMs))
}

/** Takes up to `amount` from the slices between `newest` and `oldest`, newest first, and answers how much that was. */
function giveBack(counts: number[], amount: number, newest: number, oldest: number): number {
  let left = amount
  for (let slice = newest; slice >= Math.max(0, oldest) && left > 0; slice--) {
    const removed = Math.min(left, counts[slice] as number)
    counts[slice] = (counts[slice] as number) - removed
    left -= removed
  }
  return amount - left
}

/** How many slices, from the start of the newest, until at least `amount` has left, oldest first. */
function slicesUntilFree(counts: readonly number[], amount: number): number {
  let slice = 0
  for (let freed = counts[0] as number; freed < amount; freed += counts[slice] as number) slice++
  return slice + 1
}

/** The same for all that is used, which is more than nothing, from the other end: mostly the newest slice is not empty. */
function slicesUntilEmpty(counts: readonly number[]): number {
  let slices = counts.length
  while (counts[slices - 1] === 0) slices--
  return slices
}

/** A state as numbers, for `live` slices, as its script keeps it: the length of a slice is below zero, which no count is. */
export function createStrictWindowCodec(live: number): StateCodec<StrictWindowState> {
  return {
    count: live + 2,
    least: 4,
    // Loops, because copying a handful of numbers by `set` and `Array.from` takes twice as long.
    write(state, row, at) {
      row[at] = state.atMs
      for (let slice = 0; slice < live; slice++) row[at + 1 + slice] = state.counts[slice] as number
      row[at + 1 + live] = -state.sliceMs
    },
    read(row, at, count = live + 2) {
      const counts = new Array<number>(count - 2)
      for (let slice = 0; slice < counts.length; slice++) counts[slice] = row[at + 1 + slice] as number
      return { atMs: row[at] as number, counts, sliceMs: -(row[at + count - 1] as number) }
    },
  }
}

/** Two counts below this fit into one cell without losing a bit. */
const PACKED = 2 ** 26

/** A state as half as many numbers, for `live` slices. One of other slices is left as it is. */
export function createCompactStrictWindowCodec(live: number): CompactCodec<StrictWindowState> {
  const odd = live % 2
  return {
    count: 2 + (live + odd) / 2,
    fits({ counts }) {
      if (counts.length !== live) return false
      for (let slice = 0; slice < live; slice++) if ((counts[slice] as number) >= PACKED) return false
      return true
    },
    write({ atMs, counts, sliceMs }, row, at) {
      row[at] = atMs
      row[at + 1] = sliceMs
      let cell = at + 2
      if (odd === 1) row[cell++] = counts[0] as number
      for (let slice = odd; slice < live; slice += 2) {
        row[cell++] = (counts[slice] as number) * PACKED + (counts[slice + 1] as number)
      }
    },
    read(row, at) {
      const counts = new Array<number>(live)
      let cell = at + 2
      if (odd === 1) counts[0] = row[cell++] as number
      for (let slice = odd; slice < live; slice += 2) {
        const both = row[cell++] as number
        const first = Math.floor(both / PACKED)
        counts[slice] = first
        counts[slice + 1] = both - first * PACKED
      }
      return { atMs: row[at] as number, counts, sliceMs: row[at + 1] as number }
    },
  }
}
