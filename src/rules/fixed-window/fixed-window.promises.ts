import fc from 'fast-check'
import type { RulePromise } from '../../../test/rule-promise.ts'
import { fixedWindow } from './fixed-window.ts'

/** What the tests of every rule check of this one, once for each anchor. */
export const promises: readonly RulePromise[] = (['clock', 'first-hit'] as const).map((anchor) => ({
  name: `fixedWindow, anchor ${anchor}`,
  rules: fc
    .record({
      limit: fc.integer({ min: 1, max: 20 }),
      window: fc.constantFrom(1, 2, 7, 250, 999, 1_000, 60_000),
      maxDebt: fc.nat(30),
      anchor: fc.constant(anchor),
    })
    .map(fixedWindow),
  extremes: fc
    .record({
      limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      window: fc.constantFrom(1, 86_400_000, 315_619_200_000),
      anchor: fc.constant(anchor),
    })
    .map(fixedWindow),
  most: ({ limit = 0, windowMs = 1 }, apartMs) => (apartMs < windowMs ? 2 * limit : Number.POSITIVE_INFINITY),
  alignedToClock: anchor === 'clock',
  periodMs: ({ windowMs = 0 }) => windowMs,
  even: (limit, windowMs) => [fixedWindow({ limit, window: windowMs, anchor })],
}))
