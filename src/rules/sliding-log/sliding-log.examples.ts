import type { WorkedExample } from '../../core/worked-example.ts'
import { slidingLog } from './sliding-log.ts'

const MOST = Number.MAX_SAFE_INTEGER
const LARGE = 6 * 10 ** 15 + 1

/** The sliding log by hand. */
export const slidingLogExamples: readonly WorkedExample[] = [
  {
    title: 'sliding log: a request leaves exactly one window after it came',
    rule: slidingLog({ limit: 3, window: 1_000 }),
    turns: [
      [0, 'consume', 1, { allowed: true, remaining: 2, resetAfterMs: 1_000 }],
      [1, 'consume', 1, { allowed: true, remaining: 1 }],
      [2, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 1_000 }],
      [3, 'consume', 1, { allowed: false, retryAfterMs: 997, resetAfterMs: 999 }],
      [3, 'consume', 2, { allowed: false, retryAfterMs: 998 }],
      [999, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [1_000, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 1_000 }],
    ],
  },
  {
    title: 'sliding log: waits for as many of the oldest as the cost needs',
    rule: slidingLog({ limit: 10, window: 1_000 }),
    turns: [
      [0, 'consume', 4, { remaining: 6 }],
      [0, 'consume', 1, { remaining: 5 }],
      [600, 'consume', 5, { remaining: 0 }],
      [700, 'consume', 5, { allowed: false, retryAfterMs: 300 }],
      [700, 'consume', 6, { allowed: false, retryAfterMs: 900 }],
      [1_000, 'consume', 5, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'sliding log: gives the newest back first',
    rule: slidingLog({ limit: 4, window: 1_000 }),
    turns: [
      [0, 'consume', 2, { remaining: 2 }],
      [500, 'consume', 2, { remaining: 0 }],
      [500, 'refund', 3, { remaining: 3, resetAfterMs: 500 }],
      [999, 'peek', 4, { allowed: false, retryAfterMs: 1 }],
      [999, 'refund', 9, { remaining: 4, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'sliding log: a charge is counted up to the debt and leaves like any request',
    rule: slidingLog({ limit: 2, window: 1_000, maxDebt: 2 }),
    turns: [
      [0, 'consume', 2, { remaining: 0 }],
      [400, 'charge', 50, { allowed: false, retryAfterMs: 1_000 }],
      [1_399, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [1_400, 'consume', 1, { allowed: true, remaining: 1 }],
    ],
  },
  {
    title: 'sliding log: stays exact where the costs of two windows together are no safe integer',
    rule: slidingLog({ limit: MOST, window: 1_000 }),
    turns: [
      [0, 'consume', MOST - LARGE, { remaining: LARGE }],
      [500, 'consume', 1, { remaining: LARGE - 1 }],
      [600, 'consume', 1, { remaining: LARGE - 2 }],
      [1_000, 'consume', LARGE, { allowed: true, remaining: MOST - LARGE - 2 }],
      [1_001, 'consume', 1, { remaining: MOST - LARGE - 3 }],
      [1_500, 'peek', 1, { remaining: MOST - LARGE - 2 }],
      [1_600, 'peek', 1, { remaining: MOST - LARGE - 1 }],
      [2_000, 'peek', 1, { remaining: MOST - 1 }],
    ],
  },
]
