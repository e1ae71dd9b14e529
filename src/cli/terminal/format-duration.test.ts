import { expect, it } from 'vitest'
import { formatDuration, formatTime } from './format-duration.ts'

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [12_499, '12.4 s'],
  [59_999, '59.9 s'],
  [60_000, '1 m'],
  [72_400, '1 m 12 s'],
  [3_600_000, '1 h'],
  [11_100_000, '3 h 5 m'],
  [86_400_000, '1 d'],
  [187_200_000, '2 d 4 h'],
  [Number.POSITIVE_INFINITY, 'never'],
])('%d ms is %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

it('formats the time of this machine', () => {
  const at = new Date(2031, 4, 6, 7, 8, 9, 10)
  expect(formatTime(at.getTime())).toBe('2031-05-06 07:08:09.010')
})
