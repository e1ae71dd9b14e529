import fc from 'fast-check'
import { expect, it } from 'vitest'
import { duration } from '../../src/core/duration.ts'
import { formatDuration, formatLatency, formatTimeOfDay, writeDuration } from './lengths.ts'

it.each([
  [0, '0 ms'],
  [250.4, '250 ms'],
  [999.4, '999 ms'],
  [5_150, '5.2 s'],
  [9_999, '10 s'],
  [59_600, '1 min'],
  [90_000, '1 min 30 s'],
  [3_600_000, '1 h'],
  [7_500_000, '2 h 5 min'],
  [90_000_000, '1 d 1 h'],
  [86_400_000 + 5_000, '1 d'],
  [Number.POSITIVE_INFINITY, 'never'],
])('formats a length of %d ms as %s', (durationMs, words) => {
  expect(formatDuration(durationMs)).toBe(words)
})

it.each([
  [null, '—'],
  [0, '0 µs'],
  [0.0012, '1.2 µs'],
  [0.0512, '51.2 µs'],
  [0.5, '0.5 ms'],
  [1.24, '1.2 ms'],
  [340.4, '340 ms'],
  [1_500, '1.5 s'],
])('formats a latency of %s as %s', (durationMs, words) => {
  expect(formatLatency(durationMs)).toBe(words)
})

it('writes every length of time so that duration() reads the same again', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3_653 * 86_400_000 }), (durationMs) => {
      expect(duration(writeDuration(durationMs))).toBe(durationMs)
    }),
  )
  expect([writeDuration(60_000), writeDuration(90_250), writeDuration(604_800_000)]).toEqual(['1m', '1m30s250ms', '1w'])
})

it('formats the time of day in two digits each', () => {
  expect(formatTimeOfDay(new Date(2026, 0, 2, 3, 4, 5).getTime())).toBe('03:04:05')
})
