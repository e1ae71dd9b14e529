import fc from 'fast-check'
import type { RulePromise } from '../../../test/rule-promise.ts'
import type { Rule } from '../../core/rule.ts'
import { strictWindow } from './strict-window.ts'

/** What the tests of every rule check of this one. */
export const promises: readonly RulePromise[] = [
  {
    name: 'strictWindow',
    rules: fc
      .record({
        limit: fc.integer({ min: 1, max: 20 }),
        window: fc.constantFrom(7, 250, 999, 1_000, 60_000),
        slices: fc.constantFrom(1, 2, 3, 7),
        maxDebt: fc.nat(30),
      })
      .map(strictWindow),
    extremes: fc
      .record({
        limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        window: fc.constantFrom(1_000, 86_400_000, 315_619_200_000),
        slices: fc.constantFrom(1, 60, 1_000),
      })
      .map(strictWindow),
    most: ({ limit = 0, windowMs = 1 }, apartMs) => (apartMs < windowMs ? limit : Number.POSITIVE_INFINITY),
    alignedToClock: true,
    periodMs: ({ windowMs = 0, slices = 1 }) => Math.ceil(windowMs / slices),
    even: (limit, windowMs) =>
      [1, 4, 10, 60]
        .filter((slices) => slices <= windowMs)
        .map((slices) => strictWindow({ limit, window: windowMs, slices })),
    passes: (rule, asked) => Math.floor(asked * evenShare(rule)),
  },
]

/** The share that passes of evenly spaced requests: `limit` in every `slices + 1` slices, of those that come in that time. */
export function evenShare({ parameters }: Rule): number {
  const { limit, windowMs, slices } = parameters as Readonly<Record<'limit' | 'windowMs' | 'slices', number>>
  return limit / Math.ceil(((slices + 1) * Math.ceil(windowMs / slices) * limit) / windowMs)
}
