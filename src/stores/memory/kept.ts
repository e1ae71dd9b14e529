import type { Rule, RuleState, StateCodec } from '../../core/rule.ts'
import type { Grants } from '../../engine/grants.ts'
import type { Holds } from '../../engine/holds.ts'
import type { Block } from '../../engine/key-state.ts'

/** A block until the key as a whole is as if untouched: one that is over still says that nothing has passed since. */
export interface KeptBlock extends Block {
  readonly freshMs: number
}

/** The holds and grants of a key, until the key as a whole is as if untouched: what they refund or take when they end is not yet in its state. */
export interface HoldList extends RuleState {
  readonly key: string
  readonly holds: Holds | undefined
  readonly grants: Grants | undefined
  /** With grants: they become a part of it after their end, by when it may have been forgotten where it was kept. */
  readonly state: RuleState | undefined
  readonly countedBy: Rule | undefined
  readonly convertedOnRefusal: boolean | undefined
  readonly freshMs: number
}

/** Time until the key as a whole is as if untouched. */
export function lifeMs({ freshMs }: KeptBlock | HoldList, nowMs: number): number {
  return Math.max(0, freshMs - nowMs)
}

/** A block as numbers. */
export const blockCells: StateCodec<KeptBlock> = {
  count: 3,
  write(block, row, at) {
    row[at] = block.atMs
    row[at + 1] = block.untilMs
    row[at + 2] = block.freshMs
  },
  read: (row, at) => ({
    atMs: row[at] as number,
    untilMs: row[at + 1] as number,
    freshMs: row[at + 2] as number,
  }),
}
