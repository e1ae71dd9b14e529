import { expect, it } from 'vitest'
import { didYouMean } from './nearest-name.ts'

it.each([
  ['limt', ['limit', 'window'], ', did you mean "limit"?'],
  ['Limit', ['limit', 'window'], ', did you mean "limit"?'],
  ['windows', ['limit', 'window'], ', did you mean "window"?'],
  ['sliding', ['fixed-window', 'sliding-window'], ', did you mean "sliding-window"?'],
  ['windowMs', ['window'], ', did you mean "window"?'],
  ['colour', ['limit', 'window'], ''],
  ['x', ['limit'], ''],
  ['', ['limit'], ''],
  ['ab', ['abcdef'], ''],
])('%j among %j', (given, names, hint) => {
  expect(didYouMean(given, names)).toBe(hint)
})
