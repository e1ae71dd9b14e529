import type { WorkedExample } from '../../core/worked-example.ts'
import { slidingWindow } from './sliding-window.ts'

/** The sliding window counter by hand. */
export const slidingWindowExamples: readonly WorkedExample[] = [
  {
    title: 'sliding window: says when the next request passes, at the edge of a window too',
    rule: slidingWindow({ limit: 10, windowMs: 1_000 }),
    turns: [
      [1_000_999, 'consume', 10, { allowed: true, remaining: 0, resetAfterMs: 1_001 }],
      [1_000_999, 'consume', 1, { allowed: false, retryAfterMs: 101, resetAfterMs: 1_001 }],
      // 10 × (1000 − 99) + 1000 is 10,010 of 10,000; a millisecond later it is 10,000.
      [1_001_099, 'consume', 1, { allowed: false, remaining: 0, retryAfterMs: 1 }],
      [1_001_100, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 1_900 }],
    ],
  },
  {
    title: 'sliding window: the previous window counts by the share that overlaps',
    rule: slidingWindow({ limit: 10, windowMs: 1_000 }),
    turns: [
      [0, 'consume', 8, { remaining: 2, resetAfterMs: 2_000 }],
      [1_000, 'peek', 1, { remaining: 2, resetAfterMs: 1_000 }],
      [1_250, 'peek', 1, { remaining: 4 }],
      [1_300, 'consume', 4, { allowed: true, remaining: 0, resetAfterMs: 1_700 }],
      // 8 × (1000 − e) + 4000 + 2000 ≤ 10000 from e = 500 on.
      [1_300, 'consume', 2, { allowed: false, retryAfterMs: 200 }],
      [1_300, 'consume', 6, { allowed: false, retryAfterMs: 700 }],
      [2_000, 'consume', 7, { allowed: false, remaining: 6, retryAfterMs: 250 }],
    ],
  },
  {
    title: 'sliding window: gives back from the current window first, then from the previous one',
    rule: slidingWindow({ limit: 10, windowMs: 1_000 }),
    turns: [
      [0, 'consume', 10, { remaining: 0 }],
      [1_500, 'consume', 3, { remaining: 2 }],
      [1_500, 'giveBack', 2, { remaining: 4, resetAfterMs: 1_500 }],
      [1_500, 'giveBack', 4, { remaining: 6, resetAfterMs: 500 }],
      [1_500, 'giveBack', 100, { remaining: 10, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'sliding window: forgets everything after two windows',
    rule: slidingWindow({ limit: 3, windowMs: 7 }),
    turns: [
      [0, 'consume', 3, { remaining: 0, resetAfterMs: 14 }],
      [13, 'peek', 1, { allowed: true, remaining: 2, resetAfterMs: 1 }],
      [14, 'peek', 1, { allowed: true, remaining: 3, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'sliding window: pays debt off as the window slides',
    rule: slidingWindow({ limit: 10, windowMs: 1_000, maxDebt: 10 }),
    turns: [
      [0, 'charge', 1_000, { allowed: false, remaining: 0, retryAfterMs: 1_550, resetAfterMs: 2_000 }],
      [1_550, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
]
