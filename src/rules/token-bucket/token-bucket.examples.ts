import type { WorkedExample } from '../../core/worked-example.ts'
import { gcra, tokenBucket } from './token-bucket.ts'

/** The token bucket by hand. */
export const tokenBucketExamples: readonly WorkedExample[] = [
  {
    title: 'token bucket: refills continuously, and loses nothing at a rate that does not divide evenly',
    rule: tokenBucket({ capacity: 10, refill: 7, period: 1_000 }),
    turns: [
      [0, 'consume', 10, { allowed: true, remaining: 0, resetAfterMs: 1_429 }],
      // 7 × 142 is 994 of the 1,000 units of a token.
      [142, 'consume', 1, { allowed: false, remaining: 0, retryAfterMs: 1, resetAfterMs: 1_287 }],
      [143, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 1_429 }],
      [285, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [286, 'consume', 1, { allowed: true, remaining: 0 }],
      [2_000, 'peek', 1, { remaining: 10, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'token bucket: a cost greater than the capacity never passes, and says so',
    rule: tokenBucket({ capacity: 5, refill: 1, period: 1_000 }),
    turns: [
      [0, 'consume', 6, { allowed: false, remaining: 5, retryAfterMs: Infinity, reason: 'cost-exceeds-limit' }],
      [0, 'consume', 5, { allowed: true, remaining: 0, resetAfterMs: 5_000 }],
      [0, 'peek', 6, { allowed: false, retryAfterMs: Infinity, resetAfterMs: 5_000 }],
    ],
  },
  {
    title: 'token bucket: a charge goes into debt that the refill pays off',
    rule: tokenBucket({ capacity: 5, refill: 1, period: 1_000, maxDebt: 4 }),
    turns: [
      [0, 'consume', 5, { allowed: true, remaining: 0 }],
      [0, 'charge', 3, { allowed: false, remaining: 0, retryAfterMs: 4_000, resetAfterMs: 8_000 }],
      [0, 'charge', 1_000_000, { retryAfterMs: 5_000, resetAfterMs: 9_000 }],
      [4_999, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [5_000, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'token bucket: gives back no more than fits',
    rule: tokenBucket({ capacity: 5, refill: 1, period: 1_000 }),
    turns: [
      [0, 'consume', 2, { remaining: 3 }],
      [500, 'refund', 1, { remaining: 4, resetAfterMs: 500 }],
      [500, 'refund', 105, { remaining: 5, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'token bucket: gcra is the same rule in other words',
    rule: gcra({ limit: 2, period: 1_000, burst: 3 }),
    turns: [
      [0, 'consume', 3, { allowed: true, remaining: 0, resetAfterMs: 1_500 }],
      [0, 'consume', 1, { allowed: false, retryAfterMs: 500 }],
      [500, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
]
