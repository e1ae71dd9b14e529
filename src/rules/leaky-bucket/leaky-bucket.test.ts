import fc from 'fast-check'
import { describe } from 'vitest'
import { describeProperties } from '../../../test/rule-properties.ts'
import { leakyBucket } from './leaky-bucket.ts'

describe('leakyBucket', () => {
  describeProperties({
    rules: fc
      .record({
        capacity: fc.integer({ min: 1, max: 20 }),
        leak: fc.constantFrom(1, 2, 3, 7, 10, 100),
        periodMs: fc.constantFrom(1, 3, 10, 250, 1_000, 1_009),
        maxDebt: fc.nat(30),
        mode: fc.constantFrom('police', 'shape'),
      })
      .map(leakyBucket),
    most: ({ capacity = 0, leak = 0, periodMs = 1 }, apartMs) => capacity + Math.floor((leak * apartMs) / periodMs),
    periodMs: ({ periodMs = 0 }) => periodMs,
  })
})
