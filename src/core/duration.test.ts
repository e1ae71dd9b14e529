import { describe, expect, it } from 'vitest'
import { duration, readDuration, readWait } from './duration.ts'

it.each([
  ['1ms', 1],
  ['250ms', 250],
  ['1s', 1_000],
  ['1m', 60_000],
  ['1h30m', 5_400_000],
  ['1d', 86_400_000],
  ['2w', 1_209_600_000],
  ['3653d', 315_619_200_000],
])('reads %s as %d ms', (text, ms) => {
  expect(duration(text)).toBe(ms)
})

it.each([
  '',
  ' ',
  '1',
  'm',
  '1x',
  '-1s',
  '1.5h',
  '1 m',
  '1m ',
  '1M',
  '1e3ms',
  'Infinityms',
  60_000,
  undefined,
  null,
  {},
])('refuses %j', (text) => {
  expect(() => duration(text as string)).toThrow(
    /^a duration must look like '250ms', '1m' or '1h30m' \(units ms, s, m, h, d, w\), got /,
  )
})

it.each(['0s', '3654d', '999999999999999w'])('refuses %s, which is out of range', (text) => {
  expect(() => duration(text)).toThrow(`a duration must be from 1 ms to 10 years (3653d), got "${text}"`)
})

describe('an option', () => {
  it('takes a text or whole milliseconds', () => {
    expect(readDuration('window', '1m')).toBe(60_000)
    expect(readDuration('window', 250)).toBe(250)
    expect([readWait('maxWait', 0), readWait('maxWait', '0ms'), readWait('maxWait', 2 ** 50)]).toEqual([0, 0, 2 ** 50])
  })

  it.each<[unknown, string]>([
    [
      'soon',
      "window must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got \"soon\"",
    ],
    [
      1.5,
      "window must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got 1.5",
    ],
    [0, 'window must be from 1 ms to 10 years (3653d), got 0'],
    ['3654d', 'window must be from 1 ms to 10 years (3653d), got "3654d"'],
  ])('refuses %j', (value, message) => {
    expect(() => readDuration('window', value)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', message }))
  })

  it('refuses to wait for less than nothing', () => {
    const message = 'maxWait must be at least 0 ms, got -1'
    expect(() => readWait('maxWait', -1, 'INVALID_ARGUMENT')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message }),
    )
  })
})
