import fc from 'fast-check'
import { describe } from 'vitest'
import { describeProperties } from '../../../test/rule-properties.ts'
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
  })
})
