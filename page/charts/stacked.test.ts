import { expect, it } from 'vitest'
import { stacked } from './stacked.ts'

it('puts what was refused on top of what was allowed', () => {
  expect(stacked([1, 2], [5, 0], [1, 3])).toEqual([
    [1, 2],
    [6, 3],
    [5, 0],
  ])
})
