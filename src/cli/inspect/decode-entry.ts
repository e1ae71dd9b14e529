import type { Rule, StateCodec } from '../../core/rule.ts'
import type { Grant } from '../../engine/grants.ts'
import type { Hold } from '../../engine/holds.ts'
import type { Block, KeyState } from '../../engine/key-state.ts'
import { joinRuns } from './join-runs.ts'

/** What Redis keeps of a key, read from its bytes. */
export interface StoredEntry extends Omit<KeyState, 'holds' | 'grants'> {
  readonly holds: readonly Hold[]
  readonly grants: readonly Grant[]
  /** The state by the names of its parts. Absent when there is none. */
  readonly parts: Readonly<Record<string, number | readonly number[]>> | undefined
  /** Time and cost of what was taken, oldest first. Only of rules that remember that. */
  readonly taken: readonly (readonly [number, number])[]
}

/** What comes before the state. */
type Front = Pick<StoredEntry, 'block' | 'holds' | 'grants'>

const HOLD_NUMBERS = 5
const GRANT_NUMBERS = 3

/**
 * Reads what the scripts have packed, a row of doubles: a block is −∞ and two times, n holds are −n − ½, two numbers, and five
 * columns of n numbers, n grants are −n − ¾, four numbers, and n rows of three, and the rest is the state of the rule. `undefined` when it
 * is something else.
 */
export function decodeEntry(rule: Rule, bytes: Uint8Array): StoredEntry | undefined {
  if (bytes.length % 8 !== 0) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const numbers = joinRuns(
    Float64Array.from({ length: bytes.length / 8 }, (_, index) => view.getFloat64(index * 8, true)),
  )
  let at = 0
  let block: Block | undefined
  if (numbers[0] === Number.NEGATIVE_INFINITY) {
    block = { atMs: numbers[1] as number, untilMs: numbers[2] as number }
    at = 3
  }
  const held = readCount(numbers[at], 0.5)
  const holds = held === 0 ? [] : readHolds(numbers, at + 3, held, numbers[at + 2] as number)
  if (held > 0) at += 3 + held * HOLD_NUMBERS
  const lent = readCount(numbers[at], 0.75)
  const grants = readGrants(numbers, at + 5, lent)
  if (lent > 0) at += 5 + lent * GRANT_NUMBERS
  const front = { block, holds, grants }
  const rest = numbers.subarray(at)
  if (rest.length === 0) return { state: undefined, parts: undefined, taken: [], ...front }
  return rule.codec === undefined ? readLog(rest, front) : readRow(rule.codec, rest, front)
}

/** The grants of what is stored that have not ended. */
export function listLiveGrants(entry: StoredEntry | undefined, nowMs: number): readonly Grant[] {
  return entry?.grants.filter(({ endMs }) => endMs > nowMs) ?? []
}

/** How many there are by their mark; 0 where it is none. */
function readCount(mark: number | undefined, part: number): number {
  const count = -(mark ?? 0) - part
  return Number.isInteger(count) && count >= 1 ? count : 0
}

function readGrants(numbers: Float64Array, from: number, count: number): readonly Grant[] {
  return Array.from({ length: count }, (_, row) => {
    const [id, amount, endMs] = numbers.subarray(from + row * GRANT_NUMBERS) as unknown as [number, number, number]
    return { id, amount, endMs }
  })
}

/** @param mostLeft no more than that can go back of any hold. */
function readHolds(numbers: Float64Array, from: number, count: number, mostLeft: number): readonly Hold[] {
  return Array.from({ length: count }, (_, row) => {
    const [id, amount, left, takenMs, untilMs] = Array.from({ length: HOLD_NUMBERS }, (_column, column) => {
      return numbers[from + column * count + row]
    }) as [number, number, number, number, number]
    return { id, amount, left: Math.min(left, mostLeft), takenMs, untilMs }
  })
}

function readRow(codec: StateCodec, row: Float64Array, front: Front): StoredEntry | undefined {
  const isOfSize = codec.least === undefined ? row.length === codec.count : row.length >= codec.least
  if (!isOfSize) return undefined
  const state = codec.read(row, 0, row.length)
  return { state, parts: { ...state } as unknown as NonNullable<StoredEntry['parts']>, taken: [], ...front }
}

// Rules without a row of fixed size keep their newest time, the sum before the first pair, for how long each counts, and pairs of a time and
// the sum up to it.
function readLog(row: Float64Array, front: Front): StoredEntry | undefined {
  const [atMs = 0, base = 0, spanMs = 0] = row
  if (row.length < 5 || row.length % 2 !== 1) return undefined
  const sums = Array.from({ length: (row.length - 3) / 2 }, (_, index) => row[2 * index + 4] as number)
  const taken = sums.map((sum, index) => [row[2 * index + 3] as number, sum - (sums[index - 1] ?? base)] as const)
  return { state: undefined, parts: { atMs, total: (sums.at(-1) as number) - base, spanMs }, taken, ...front }
}
