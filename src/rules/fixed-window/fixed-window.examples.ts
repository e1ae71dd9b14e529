import type { WorkedExample } from '../../core/worked-example.ts'
import { fixedWindow } from './fixed-window.ts'

/** The fixed window by hand. */
export const fixedWindowExamples: readonly WorkedExample[] = [
  {
    title: 'fixed window: counts inside a window of the clock and starts anew at its end',
    rule: fixedWindow({ limit: 10, window: 1_000 }),
    turns: [
      [999, 'consume', 10, { allowed: true, remaining: 0, retryAfterMs: 0, resetAfterMs: 1 }],
      [999, 'consume', 1, { allowed: false, remaining: 0, retryAfterMs: 1, resetAfterMs: 1, reason: 'limit' }],
      [1_000, 'consume', 10, { allowed: true, remaining: 0, resetAfterMs: 1_000 }],
      [1_400, 'consume', 1, { allowed: false, retryAfterMs: 600 }],
    ],
  },
  {
    title: 'fixed window: a cost passes whole or not at all',
    rule: fixedWindow({ limit: 10, window: 1_000 }),
    turns: [
      [0, 'consume', 8, { allowed: true, remaining: 2 }],
      [0, 'consume', 3, { allowed: false, remaining: 2, retryAfterMs: 1_000 }],
      [0, 'consume', 2, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'fixed window: with anchor first-hit the window opens with the first request',
    rule: fixedWindow({ limit: 2, window: 1_000, anchor: 'first-hit' }),
    turns: [
      [300, 'peek', 1, { allowed: true, remaining: 2, resetAfterMs: 0 }],
      [300, 'consume', 1, { allowed: true, remaining: 1, resetAfterMs: 1_000 }],
      [1_299, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 1 }],
      [1_299, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [1_300, 'consume', 1, { allowed: true, remaining: 1, resetAfterMs: 1_000 }],
    ],
  },
  {
    title: 'fixed window: a window whose count was given back does not restart',
    rule: fixedWindow({ limit: 10, window: 1_000, anchor: 'first-hit' }),
    turns: [
      [300, 'consume', 3, { remaining: 7 }],
      [400, 'refund', 5, { allowed: true, remaining: 10, resetAfterMs: 900 }],
      [1_299, 'consume', 1, { remaining: 9, resetAfterMs: 1 }],
      [1_300, 'refund', 1, { remaining: 10, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'fixed window: a charge goes into debt that ends with the window',
    rule: fixedWindow({ limit: 5, window: 1_000, maxDebt: 3 }),
    turns: [
      [100, 'consume', 5, { allowed: true }],
      [200, 'charge', 100, { allowed: false, remaining: 0, retryAfterMs: 800 }],
      [200, 'refund', 3, { allowed: false, remaining: 0 }],
      [200, 'refund', 1, { allowed: true, remaining: 1 }],
      [1_000, 'peek', 1, { allowed: true, remaining: 5 }],
    ],
  },
]
