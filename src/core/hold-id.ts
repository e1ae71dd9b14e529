import { randomInt } from 'node:crypto'

/** The largest id of a hold or a grant. */
export const LARGEST_HOLD_ID: number = 2 ** 48 - 2

/** Tells a hold or a grant from the others of its key, whatever process makes it. Exact as a number in every language. */
export function createHoldId(): number {
  return randomInt(1, LARGEST_HOLD_ID + 1)
}
