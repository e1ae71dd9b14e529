import { expect, it } from 'vitest'
import { COUNTS, DURATIONS, nearestStep } from './ladder.ts'

it.each([
  ['counts', COUNTS],
  ['durations', DURATIONS],
])('%s rise from step to step', (_name, ladder) => {
  expect(ladder.toSorted((one, other) => one - other)).toEqual(ladder)
  expect(new Set(ladder).size).toBe(ladder.length)
})

it('finds each of its own values again', () => {
  for (const [step, value] of COUNTS.entries()) expect(nearestStep(COUNTS, value)).toBe(step)
})

it.each([
  [17, 15],
  [18, 20],
  [0, 1],
  [-5, 1],
  [1_000_000, 10_000],
])('stands nearest to %d at %d', (value, shown) => {
  expect(COUNTS[nearestStep(COUNTS, value)]).toBe(shown)
})
