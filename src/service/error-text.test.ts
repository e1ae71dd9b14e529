import { expect, it } from 'vitest'
import { errorText } from './error-text.ts'

it('tells errors by their message, and whatever else was thrown as it is', () => {
  expect(errorText(new Error('gone'))).toBe('gone')
  expect(errorText('gone')).toBe('gone')
  expect(errorText(undefined)).toBe('undefined')
})
