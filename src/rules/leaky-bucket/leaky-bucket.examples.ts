import type { WorkedExample } from '../../core/worked-example.ts'
import { leakyBucket } from './leaky-bucket.ts'

/** The leaky bucket by hand. */
export const leakyBucketExamples: readonly WorkedExample[] = [
  {
    title: 'leaky bucket: as a policeman it lets pass what fits at once, and the fraction that leaked survives',
    rule: leakyBucket({ capacity: 2, leak: 3, period: 1_000 }),
    turns: [
      [0, 'consume', 2, { allowed: true, remaining: 0, delayMs: 0, resetAfterMs: 667 }],
      [0, 'consume', 1, { allowed: false, retryAfterMs: 334 }],
      [333, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [334, 'consume', 1, { allowed: true, remaining: 0, delayMs: 0 }],
      [666, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [667, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'leaky bucket: as a shaper it tells each request how long to wait',
    rule: leakyBucket({ capacity: 10, leak: 2, period: 1_000, mode: 'shape', maxWait: 1_000 }),
    turns: [
      [0, 'consume', 1, { allowed: true, delayMs: 0, remaining: 2, resetAfterMs: 500 }],
      [0, 'consume', 1, { allowed: true, delayMs: 500, remaining: 1 }],
      [0, 'consume', 1, { allowed: true, delayMs: 1_000, remaining: 0 }],
      [0, 'consume', 1, { allowed: false, delayMs: 0, retryAfterMs: 500, resetAfterMs: 1_500 }],
      [500, 'consume', 1, { allowed: true, delayMs: 1_000, remaining: 0 }],
    ],
  },
  {
    title: 'leaky bucket: a cancelled wait gives its place back at the tail',
    rule: leakyBucket({ capacity: 10, leak: 2, period: 1_000, mode: 'shape', maxWait: 1_000 }),
    turns: [
      [0, 'consume', 3, { allowed: true, delayMs: 0, remaining: 0 }],
      [0, 'refund', 1, { allowed: true, delayMs: 1_000, remaining: 1 }],
      [0, 'consume', 1, { allowed: true, delayMs: 1_000, remaining: 0 }],
    ],
  },
  {
    title: 'leaky bucket: as a shaper it queues no more than fit',
    rule: leakyBucket({ capacity: 2, leak: 1, period: 1_000, mode: 'shape' }),
    turns: [
      [0, 'consume', 1, { allowed: true, delayMs: 0, remaining: 1 }],
      [0, 'consume', 1, { allowed: true, delayMs: 1_000, remaining: 0 }],
      [0, 'consume', 1, { allowed: false, retryAfterMs: 1_000 }],
      [0, 'charge', 9, { allowed: false, retryAfterMs: 3_000, resetAfterMs: 4_000 }],
    ],
  },
]
