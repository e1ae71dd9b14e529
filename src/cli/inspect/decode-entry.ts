import type { Rule, StateCodec } from '../../core/rule.ts'
import type { Hold } from '../../engine/holds.ts'
import type { Block, KeyState } from '../../engine/key-state.ts'

/** What Redis keeps of a key, read from its bytes. */
export interface StoredEntry extends Omit<KeyState, 'holds'> {
  readonly holds: readonly Hold[]
  /** The state by the names of its parts. Absent when there is none. */
  readonly parts: Readonly<Record<string, number | readonly number[]>> | undefined
  /** Time and cost of what was taken, oldest first. Only of rules that remember that. */
  readonly taken: readonly (readonly [number, number])[]
}

const HOLD_NUMBERS = 5

/**
 * Reads what `entry.lua` and a rule's script have packed, a row of doubles: a block is −∞ and two times, n holds are −n − ½ and five
 * numbers each, and the rest is the state of the rule. `undefined` when it is something else.
 */
export function decodeEntry(rule: Rule, bytes: Uint8Array): StoredEntry | undefined {
  if (bytes.length % 8 !== 0) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const numbers = Float64Array.from({ length: bytes.length / 8 }, (_, index) => view.getFloat64(index * 8, true))
  let at = 0
  let block: Block | undefined
  if (numbers[0] === Number.NEGATIVE_INFINITY) {
    block = { atMs: numbers[1] as number, untilMs: numbers[2] as number }
    at = 3
  }
  const count = -(numbers[at] ?? 0) - 0.5
  const holds = Number.isInteger(count) && count >= 1 ? readHolds(numbers, at + 1, count) : []
  if (holds.length > 0) at += 1 + holds.length * HOLD_NUMBERS
  const rest = numbers.subarray(at)
  if (rest.length === 0) return { state: undefined, parts: undefined, taken: [], block, holds }
  return rule.codec === undefined ? readLog(rest, block, holds) : readRow(rule.codec, rest, block, holds)
}

function readHolds(numbers: Float64Array, from: number, count: number): readonly Hold[] {
  return Array.from({ length: count }, (_, index) => {
    const at = from + index * HOLD_NUMBERS
    const [id, amount, left, takenMs, untilMs] = numbers.subarray(at, at + HOLD_NUMBERS) as unknown as number[]
    return { id, amount, left, takenMs, untilMs } as Hold
  })
}

function readRow(
  codec: StateCodec,
  row: Float64Array,
  block: Block | undefined,
  holds: readonly Hold[],
): StoredEntry | undefined {
  const isOfSize = codec.least === undefined ? row.length === codec.count : row.length >= codec.least
  if (!isOfSize) return undefined
  const state = codec.read(row, 0, row.length)
  return { state, parts: { ...state } as unknown as NonNullable<StoredEntry['parts']>, taken: [], block, holds }
}

// Rules without a row of fixed size keep their newest time, their total, for how long each counts, and pairs of time and cost.
function readLog(row: Float64Array, block: Block | undefined, holds: readonly Hold[]): StoredEntry | undefined {
  const [atMs = 0, total = 0, spanMs = 0] = row
  if (row.length < 5 || row.length % 2 !== 1) return undefined
  const taken = Array.from({ length: (row.length - 3) / 2 }, (_, index) => {
    return [row[2 * index + 3] as number, row[2 * index + 4] as number] as const
  })
  return { state: undefined, parts: { atMs, total, spanMs }, taken, block, holds }
}
