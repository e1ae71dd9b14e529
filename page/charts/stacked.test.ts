import { expect, it } from 'vitest'
import { stackColumns } from './stacked.ts'

it('puts what was refused on top of what was allowed', () => {
  expect(stackColumns([1, 2], [5, 0], [1, 3])).toEqual([
    [1, 2],
    [6, 3],
    [5, 0],
  ])
})
