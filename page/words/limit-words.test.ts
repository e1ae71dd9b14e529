import { expect, it } from 'vitest'
import type { Rule } from '../../src/core/rule.ts'
import { concurrency } from '../../src/rules/concurrency/concurrency.ts'
import { fixedWindow } from '../../src/rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../../src/rules/leaky-bucket/leaky-bucket.ts'
import { slidingLog } from '../../src/rules/sliding-log/sliding-log.ts'
import { slidingWindow } from '../../src/rules/sliding-window/sliding-window.ts'
import { strictWindow } from '../../src/rules/strict-window/strict-window.ts'
import { gcra, tokenBucket } from '../../src/rules/token-bucket/token-bucket.ts'
import { describeLimit } from './limit-words.ts'

it.each<[Rule, string]>([
  [slidingWindow({ limit: 100, window: 60_000 }), '100 per minute'],
  [fixedWindow({ limit: 100_000, window: 86_400_000 }), '100,000 per day'],
  [strictWindow({ limit: 5, window: 90_000 }), '5 per 90 seconds'],
  [slidingLog({ limit: 5, window: 1_500 }), '5 per 1,500 milliseconds'],
  [tokenBucket({ capacity: 20, refill: 2, period: 1_000 }), '2 per second, 20 at once'],
  [gcra({ limit: 6, period: 7_200_000, burst: 12 }), '6 per 2 hours, 12 at once'],
  [leakyBucket({ capacity: 50, leak: 10, period: 1_000 }), '10 per second, 50 at once'],
  [concurrency({ limit: 5, lease: 30_000 }), '5 at once, for 30 seconds each'],
])('says a limit in plain words: $1', (rule, words) => {
  expect(describeLimit(rule)).toBe(words)
})

it('says the limit alone of a rule that it does not know', () => {
  expect(describeLimit({ limit: 7, parameters: { magic: 3 } })).toBe('limit 7')
})
