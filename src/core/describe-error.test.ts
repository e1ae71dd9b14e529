import { expect, it } from 'vitest'
import { describeError } from './describe-error.ts'

it('reports errors by their message, and whatever else was thrown as it is', () => {
  expect(describeError(new Error('gone'))).toBe('gone')
  expect(describeError('gone')).toBe('gone')
  expect(describeError(undefined)).toBe('undefined')
})
