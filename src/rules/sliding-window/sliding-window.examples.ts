import type { WorkedExample } from '../../core/worked-example.ts'
import { slidingWindow } from './sliding-window.ts'

/** The sliding window counter by hand. */
export const slidingWindowExamples: readonly WorkedExample[] = [
  {
    title: 'sliding window: says when the next request passes, at the edge of a window too',
    rule: slidingWindow({ limit: 10, window: 1_000 }),
    turns: [
      [1_000_999, 'consume', 10, { allowed: true, remaining: 0, resetAfterMs: 1_001 }],
      // 10 × 999 / 1000 is 9.99, which counts as 9.
      [1_000_999, 'consume', 1, { allowed: false, retryAfterMs: 1, resetAfterMs: 1_001 }],
      [1_001_000, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 2_000 }],
      // 10 × 900 / 1000 is 9; a millisecond later it is 8.99.
      [1_001_000, 'consume', 1, { allowed: false, retryAfterMs: 100 }],
      [1_001_099, 'consume', 1, { allowed: false, remaining: 0, retryAfterMs: 1 }],
      [1_001_100, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 1_900 }],
    ],
  },
  {
    title: 'sliding window: the previous window counts by the share that overlaps, rounded down',
    rule: slidingWindow({ limit: 10, window: 1_000 }),
    turns: [
      [0, 'consume', 8, { remaining: 2, resetAfterMs: 2_000 }],
      // 8 × 999, 749 and 699 / 1000 are 7.992, 5.992 and 5.592.
      [1_000, 'peek', 1, { remaining: 3, resetAfterMs: 1_000 }],
      [1_250, 'peek', 1, { remaining: 5 }],
      [1_300, 'consume', 5, { allowed: true, remaining: 0, resetAfterMs: 1_700 }],
      // 8 × 499 / 1000 is the first below 4.
      [1_300, 'consume', 2, { allowed: false, retryAfterMs: 200 }],
      // 5 × 999 / 1000 is 4.995, and 5 × 799 / 1000 the first below 4.
      [1_300, 'consume', 6, { allowed: false, retryAfterMs: 700 }],
      [1_300, 'consume', 7, { allowed: false, retryAfterMs: 900 }],
      [2_000, 'consume', 7, { allowed: false, remaining: 6, retryAfterMs: 200 }],
      [2_200, 'consume', 7, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'sliding window: never refuses one request a window at a limit of 1, at the edge of a window neither',
    rule: slidingWindow({ limit: 1, window: 60_000 }),
    turns: [
      [0, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 120_000 }],
      [0, 'consume', 1, { allowed: false, retryAfterMs: 60_000 }],
      [60_000, 'consume', 1, { allowed: true, remaining: 0 }],
      [120_000, 'consume', 1, { allowed: true, remaining: 0 }],
      [179_999, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [200_000, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 100_000 }],
      [260_000, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'sliding window: never refuses evenly spaced requests at a limit that does not divide the window',
    rule: slidingWindow({ limit: 3, window: 1_000 }),
    turns: [
      [0, 'consume', 1, { allowed: true, remaining: 2 }],
      [334, 'consume', 1, { allowed: true, remaining: 1 }],
      [667, 'consume', 1, { allowed: true, remaining: 0 }],
      // 3 × 999, 665 and 332 / 1000 are 2.997, 1.995 and 0.996.
      [1_000, 'consume', 1, { allowed: true, remaining: 0 }],
      [1_334, 'consume', 1, { allowed: true, remaining: 0 }],
      [1_667, 'consume', 1, { allowed: true, remaining: 0 }],
      [2_000, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'sliding window: gives back from the current window first, then from the previous one',
    rule: slidingWindow({ limit: 10, window: 1_000 }),
    turns: [
      [0, 'consume', 10, { remaining: 0 }],
      // 10 × 499 / 1000 is 4.99, and 7 × 499 / 1000 is 3.493.
      [1_500, 'consume', 3, { remaining: 3 }],
      [1_500, 'refund', 2, { remaining: 5, resetAfterMs: 1_500 }],
      [1_500, 'refund', 4, { remaining: 7, resetAfterMs: 500 }],
      [1_500, 'refund', 100, { remaining: 10, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'sliding window: forgets everything after two windows',
    rule: slidingWindow({ limit: 3, window: 7 }),
    turns: [
      [0, 'consume', 3, { remaining: 0, resetAfterMs: 14 }],
      // 3 × 3 / 7 is 1.29, and 3 × 0 / 7 is nothing.
      [10, 'peek', 1, { allowed: true, remaining: 2, resetAfterMs: 4 }],
      [13, 'peek', 1, { allowed: true, remaining: 3, resetAfterMs: 1 }],
      [14, 'peek', 1, { allowed: true, remaining: 3, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'sliding window: pays debt off as the window slides',
    rule: slidingWindow({ limit: 10, window: 1_000, maxDebt: 10 }),
    turns: [
      // 20 × 499 / 1000 is the first below 10.
      [0, 'charge', 1_000, { allowed: false, remaining: 0, retryAfterMs: 1_500, resetAfterMs: 2_000 }],
      [1_500, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
]
