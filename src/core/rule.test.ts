import { expect, it } from 'vitest'
import { addBounded } from './rule.ts'

it.each([
  [3, 4, 10, 7],
  [3, 9, 10, 10],
  [3, -2, 10, 1],
  [3, -9, 10, 0],
  // A ceiling that was lowered meanwhile forgives nothing.
  [12, 1, 10, 12],
  [12, -1, 10, 11],
])('%d and a cost of %d, bounded by %d, make %d', (used, cost, ceiling, result) => {
  expect(addBounded(used, cost, ceiling)).toBe(result)
})
