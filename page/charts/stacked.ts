/** Columns of a chart: the first one is time. */
export type Columns = readonly [readonly number[], ...(readonly (number | null)[])[]]

/**
 * Allowed and refused on top of each other: the sum of both first, then what was allowed, which is drawn over it, so what
 * is seen of the sum is what was refused.
 */
export function stackColumns(
  times: readonly number[],
  allowed: readonly number[],
  refused: readonly number[],
): Columns {
  return [times, allowed.map((value, index) => value + (refused[index] as number)), allowed]
}
