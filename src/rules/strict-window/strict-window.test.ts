import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countPassed } from '../../../test/even-traffic.ts'
import { describeProperties } from '../../../test/rule-properties.ts'
import type { Rule } from '../../core/rule.ts'
import { strictWindow } from './strict-window.ts'

describe('strictWindow', () => {
  describeProperties({
    rules: fc
      .record({
        limit: fc.integer({ min: 1, max: 20 }),
        windowMs: fc.constantFrom(7, 250, 999, 1_000, 60_000),
        slices: fc.constantFrom(1, 2, 3, 7),
        maxDebt: fc.nat(30),
      })
      .map(strictWindow),
    extremes: fc
      .record({
        limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        windowMs: fc.constantFrom(1_000, 86_400_000, 315_619_200_000),
        slices: fc.constantFrom(1, 60, 1_000),
      })
      .map(strictWindow),
    most: ({ limit = 0, windowMs = 1 }, apartMs) => (apartMs < windowMs ? limit : Number.POSITIVE_INFINITY),
    alignedToClock: true,
    periodMs: ({ windowMs = 0, slices = 1 }) => Math.ceil(windowMs / slices),
    even: (limit, windowMs) =>
      [1, 4, 10, 60].filter((slices) => slices <= windowMs).map((slices) => strictWindow({ limit, windowMs, slices })),
    passes: (rule, asked) => Math.floor(asked * evenShare(rule)),
  })

  it.each([
    [1, 110, 55],
    [2, 120, 80],
    [5, 120, 100],
    [10, 110, 100],
    [100, 1_100, 1_000],
  ])('states what passes of evenly spaced requests at a limit of %i', (limit, asked, passed) => {
    const rule = strictWindow({ limit, windowMs: 1_000 })
    expect(asked * evenShare(rule)).toBe(passed)
    expect(countPassed(rule, asked, (request) => 1_000_000 + (request * 1_000) / limit)).toBe(passed)
  })

  it.each([1, 3, 10, 100])('lets ten of eleven pass of a limit of %i under constant pressure', (limit) => {
    const rule = strictWindow({ limit, windowMs: 1_000 })
    expect(countPassed(rule, 11_000, (request) => 1_000_000 + request)).toBe(10 * limit)
  })
})

// `limit` in every `slices + 1` slices, of the requests that come in that time.
function evenShare({ parameters }: Rule): number {
  const { limit, windowMs, slices } = parameters as Readonly<Record<'limit' | 'windowMs' | 'slices', number>>
  return limit / Math.ceil(((slices + 1) * Math.ceil(windowMs / slices) * limit) / windowMs)
}
