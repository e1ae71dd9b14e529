import type { RuleState, StateCells } from '../core/rule.ts'

/** What is in a bucket at `atMs`, in units of request × millisecond, so that every millisecond changes it by a whole number. */
export interface Level extends RuleState {
  readonly level: number
}

/**
 * A cost in units of request × millisecond. A part of a request is a whole number of those, which the division that made it has
 * blurred.
 */
export function unitsOf(cost: number, periodMs: number): number {
  return cost % 1 === 0 ? cost * periodMs : Math.floor(cost * periodMs + 0.5)
}

/** A level as numbers. */
export const levelCells: StateCells<Level> = {
  count: 2,
  write(state, row, at) {
    row[at] = state.atMs
    row[at + 1] = state.level
  },
  read: (row, at) => ({ atMs: row[at] as number, level: row[at + 1] as number }),
}
