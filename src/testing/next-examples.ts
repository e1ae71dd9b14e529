import type { WorkedExample } from '../core/worked-example.ts'
import { concurrency } from '../rules/concurrency/concurrency.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../rules/leaky-bucket/leaky-bucket.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { slidingWindow } from '../rules/sliding-window/sliding-window.ts'
import { strictWindow } from '../rules/strict-window/strict-window.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'

/** When more than what remains would pass, for each rule. */
export const nextExamples: readonly WorkedExample[] = [
  {
    title: 'next: a sliding log frees the oldest first',
    rule: slidingLog({ limit: 5, window: 60_000 }),
    turns: [
      [0, 'consume', 1, { remaining: 4, nextAfterMs: 60_000 }],
      [10_000, 'consume', 1, { remaining: 3, nextAfterMs: 50_000 }],
      [10_000, 'consume', 3, { remaining: 0, retryAfterMs: 0, nextAfterMs: 50_000 }],
      [20_000, 'consume', 2, { allowed: false, retryAfterMs: 50_000, nextAfterMs: undefined }],
      [60_000, 'consume', 1, { remaining: 0, nextAfterMs: 10_000 }],
    ],
  },
  {
    title: 'next: a fixed window frees all of it at its edge',
    rule: fixedWindow({ limit: 3, window: 60_000 }),
    turns: [
      [60_500, 'consume', 1, { remaining: 2, nextAfterMs: 59_500 }],
      [119_999, 'consume', 1, { remaining: 1, nextAfterMs: 1 }],
      [120_000, 'consume', 3, { remaining: 0, nextAfterMs: 60_000 }],
    ],
  },
  {
    title: 'next: a fixed window from the first hit has its edge there',
    rule: fixedWindow({ limit: 3, window: 60_000, anchor: 'first-hit' }),
    turns: [
      [100_500, 'consume', 1, { remaining: 2, nextAfterMs: 60_000 }],
      [110_500, 'consume', 1, { remaining: 1, nextAfterMs: 50_000 }],
    ],
  },
  {
    title: 'next: a sliding window frees a share of the window before',
    rule: slidingWindow({ limit: 10, window: 1_000 }),
    // From 1,000 on the five count for 5 × what is left of their second, rounded down: four at 1,000, and three at 1,200.
    turns: [
      [0, 'consume', 5, { remaining: 5, nextAfterMs: 1_000 }],
      [1_100, 'consume', 2, { remaining: 4, nextAfterMs: 100 }],
    ],
  },
  {
    title: 'next: a strict window frees a slice when all of it is old',
    rule: strictWindow({ limit: 4, window: 1_000, slices: 4 }),
    turns: [
      [100, 'consume', 1, { remaining: 3, nextAfterMs: 1_150 }],
      [300, 'consume', 1, { remaining: 2, nextAfterMs: 950 }],
      [1_250, 'consume', 1, { remaining: 2, nextAfterMs: 250 }],
    ],
  },
  {
    title: 'next: a token bucket tells the next token, rounded up',
    rule: tokenBucket({ capacity: 10, refill: 7, period: 1_000 }),
    turns: [
      [0, 'consume', 1, { remaining: 9, nextAfterMs: 143 }],
      // 57 ms later 9.399 of 10, without one 8.399: the ninth comes after 601 / 7.
      [57, 'consume', 1, { remaining: 8, nextAfterMs: 86 }],
      [57, 'consume', 8, { remaining: 0, nextAfterMs: 86 }],
    ],
  },
  {
    title: 'next: a leaky bucket tells when the next one has leaked',
    rule: leakyBucket({ capacity: 5, leak: 2, period: 1_000 }),
    turns: [
      [0, 'consume', 1, { remaining: 4, nextAfterMs: 500 }],
      [200, 'consume', 1, { remaining: 3, nextAfterMs: 300 }],
    ],
  },
  {
    title: 'next: where only the wait is bounded, one large request passes at once',
    rule: leakyBucket({ capacity: 5, leak: 2, period: 1_000, mode: 'shape', maxWait: 500 }),
    turns: [
      [0, 'consume', 1, { remaining: 1, nextAfterMs: 0 }],
      [0, 'consume', 1, { remaining: 0, delayMs: 500, nextAfterMs: 500 }],
    ],
  },
  {
    title: 'next: places of a concurrency limit are free when their leases end',
    rule: concurrency({ limit: 2, lease: 30_000 }),
    turns: [
      [0, 'consume', 1, { remaining: 1, nextAfterMs: 30_000 }],
      [10_000, 'consume', 1, { remaining: 0, nextAfterMs: 20_000 }],
    ],
  },
  {
    title: 'next: a small step back of the clock is part of it',
    rule: tokenBucket({ capacity: 5, refill: 1, period: 1_000 }),
    turns: [
      [100_000, 'consume', 2, { remaining: 3, nextAfterMs: 1_000 }],
      [70_000, 'consume', 1, { remaining: 2, nextAfterMs: 31_000 }],
    ],
  },
]
