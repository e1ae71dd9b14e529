import type { WorkedExample } from '../../core/worked-example.ts'
import { concurrency } from './concurrency.ts'

/** The concurrency limit by hand. */
export const concurrencyExamples: readonly WorkedExample[] = [
  {
    title: 'concurrency: a place is free again when it is given back',
    rule: concurrency({ limit: 2, lease: 30_000 }),
    turns: [
      [0, 'consume', 1, { allowed: true, remaining: 1 }],
      [10, 'consume', 1, { allowed: true, remaining: 0 }],
      [20, 'consume', 1, { allowed: false, retryAfterMs: 29_980 }],
      [30, 'refund', 1, { allowed: true, remaining: 1, resetAfterMs: 29_980 }],
      [30, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 30_000 }],
      [40, 'refund', 2, { remaining: 2, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'concurrency: a permit that is not released expires',
    rule: concurrency({ limit: 2, lease: 1_000 }),
    turns: [
      [0, 'consume', 1, { allowed: true }],
      [400, 'consume', 1, { allowed: true, remaining: 0 }],
      [999, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [1_000, 'consume', 1, { allowed: true, remaining: 0 }],
      [1_000, 'consume', 1, { allowed: false, retryAfterMs: 400 }],
    ],
  },
]
