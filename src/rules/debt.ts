import { wholeNumber } from '../core/check.ts'

/**
 * How far a charge may go beyond `limit`: as much again unless the options say otherwise, and never so far that the
 * products `(limit + debt) × factor` of the rule leave the exact integers.
 */
export function parseDebt(maxDebt: unknown, limit: number, factor = 1): number {
  const most = Math.floor(Number.MAX_SAFE_INTEGER / factor) - limit
  return maxDebt === undefined ? Math.min(limit, most) : wholeNumber('maxDebt', maxDebt, 0, most)
}
