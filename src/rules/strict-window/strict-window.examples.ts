import type { WorkedExample } from '../../core/worked-example.ts'
import { strictWindow } from './strict-window.ts'

/** The strict window by hand. */
export const strictWindowExamples: readonly WorkedExample[] = [
  {
    title: 'strict window: a slice frees when all of it has left the window',
    rule: strictWindow({ limit: 10, window: 1_000 }),
    turns: [
      [50, 'consume', 10, { allowed: true, remaining: 0, resetAfterMs: 1_050 }],
      [99, 'consume', 1, { allowed: false, retryAfterMs: 1_001 }],
      [1_099, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [1_100, 'consume', 10, { allowed: true, remaining: 0, resetAfterMs: 1_100 }],
    ],
  },
  {
    title: 'strict window: frees from the oldest slice to the newest',
    rule: strictWindow({ limit: 10, window: 1_000, slices: 4 }),
    turns: [
      [0, 'consume', 3, { remaining: 7, resetAfterMs: 1_250 }],
      [250, 'consume', 3, { remaining: 4 }],
      [800, 'consume', 4, { remaining: 0, resetAfterMs: 1_200 }],
      [800, 'consume', 3, { allowed: false, retryAfterMs: 450 }],
      [800, 'consume', 4, { allowed: false, retryAfterMs: 700 }],
      [800, 'consume', 10, { allowed: false, retryAfterMs: 1_200 }],
      [1_250, 'consume', 3, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'strict window: rounds a slice up when the window does not divide evenly',
    rule: strictWindow({ limit: 1, window: 10, slices: 3 }),
    turns: [
      [3, 'consume', 1, { allowed: true, resetAfterMs: 13 }],
      [15, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [16, 'consume', 1, { allowed: true }],
    ],
  },
  {
    title: 'strict window: gives the newest slice back first, and a charge stops at the debt',
    rule: strictWindow({ limit: 4, window: 1_000, maxDebt: 1 }),
    turns: [
      [0, 'consume', 3, { remaining: 1 }],
      [100, 'charge', 9, { allowed: false, remaining: 0 }],
      [100, 'refund', 2, { allowed: true, remaining: 1, resetAfterMs: 1_000 }],
      [100, 'refund', 9, { remaining: 4, resetAfterMs: 0 }],
    ],
  },
]
