import { expect, it } from 'vitest'
import { duration } from './duration.ts'

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
  expect(() => duration(text as string)).toThrow(/^a duration looks like '250ms', '1m' or '1h30m', got /)
})

it.each(['0s', '3654d', '999999999999999w'])('refuses %s, which is out of range', (text) => {
  expect(() => duration(text)).toThrow(`a duration must be from 1 ms to 10 years (3653d), got "${text}"`)
})
