import type { RuleState, StateCells } from '../core/rule.ts'

/** What is in a bucket at `atMs`, in units of request × millisecond, so that every millisecond changes it by a whole number. */
export interface Level extends RuleState {
  readonly level: number
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
