import type { Slot } from '../../src/simulate/simulation.ts'

/** What a rule has come to by some time. */
export interface Moment {
  /** Sums of cost since the start, the slot of this time included. */
  readonly admitted: number
  readonly refused: number
  /** What remains for the watched key. */
  readonly remaining: number
}

/** Columns of a chart: seconds since the start, and sums of cost of each slot. */
export interface SlotLines {
  readonly timesS: readonly number[]
  readonly admitted: readonly number[]
  readonly refused: readonly number[]
}

/** The slots as columns. The last value is there twice: once where its slot begins, once at the end of the time line. */
export function composeSlotLines(slots: readonly Slot[], fromMs: number, untilMs: number): SlotLines {
  const last = slots.at(-1)
  const drawn = last === undefined ? [] : [...slots, { ...last, fromMs: untilMs }]
  return {
    timesS: drawn.map((slot) => (slot.fromMs - fromMs) / 1_000),
    admitted: drawn.map(({ admitted }) => admitted),
    refused: drawn.map(({ refused }) => refused),
  }
}

/** What remains over time, in seconds since the start: all of it before the first request, then what each slot ends with. */
export function composeLevelLine(
  slots: readonly Slot[],
  fromMs: number,
  untilMs: number,
  limit: number,
): readonly [timesS: readonly number[], remaining: readonly number[]] {
  const ends = slots.map((_slot, index) => ((slots[index + 1]?.fromMs ?? untilMs) - fromMs) / 1_000)
  return [
    [0, ...ends],
    [limit, ...slots.map(({ remaining }) => remaining)],
  ]
}

/** Sums up to every slot, so that a moment costs one look. */
export function listMoments(slots: readonly Slot[]): Moment[] {
  let admitted = 0
  let refused = 0
  return slots.map((slot) => {
    admitted += slot.admitted
    refused += slot.refused
    return { admitted, refused, remaining: slot.remaining }
  })
}

/** The slot that a time is in, for slots of one width: the last one from its beginning on. */
export function findSlot(slots: readonly Slot[], atMs: number): number {
  const [first, second] = slots
  if (first === undefined || second === undefined) return 0
  const slot = Math.floor((atMs - first.fromMs) / (second.fromMs - first.fromMs))
  return Math.min(Math.max(slot, 0), slots.length - 1)
}

/** The same time line in `rows` slots at most, as a table tells it. */
export function sumUp(slots: readonly Slot[], rows: number): Slot[] {
  const each = Math.ceil(slots.length / rows)
  const summed: Slot[] = []
  for (let start = 0; start < slots.length; start += each) {
    const part = slots.slice(start, start + each)
    const [{ fromMs }, { remaining }] = [part[0], part.at(-1)] as [Slot, Slot]
    const sum = (name: 'admitted' | 'refused'): number => part.reduce((total, slot) => total + slot[name], 0)
    summed.push({ fromMs, admitted: sum('admitted'), refused: sum('refused'), remaining })
  }
  return summed
}
