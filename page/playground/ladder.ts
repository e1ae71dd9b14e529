import { duration } from '../../src/core/duration.ts'

/** The values that a slider stops at, from least to most: a slider with even steps would be too fine or too coarse. */
export type Ladder = readonly number[]

/** Whole numbers, with about the same ratio from one to the next. */
export const COUNTS: Ladder = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600],
  ...[800, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000],
]

/** Lengths of time that people say, in milliseconds. */
export const DURATIONS: Ladder = [
  ...['50ms', '100ms', '200ms', '300ms', '500ms', '1s', '2s', '3s', '5s', '10s', '15s', '20s', '30s', '1m', '2m', '5m'],
  ...['10m', '15m', '30m', '1h', '2h', '6h', '12h', '1d'],
].map(duration)

/** The step nearest to a value, by ratio: between 10 and 1,000 the middle is 100. */
export function nearestStep(ladder: Ladder, value: number): number {
  const distance = (step: number): number =>
    Math.abs(Math.log((ladder[step] as number) / Math.max(value, Number.MIN_VALUE)))
  let nearest = 0
  for (let step = 1; step < ladder.length; step++) if (distance(step) < distance(nearest)) nearest = step
  return nearest
}
