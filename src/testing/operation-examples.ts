import type { WorkedExample } from '../core/worked-example.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'

const perSecond = tokenBucket({ capacity: 5, refill: 1, period: 1_000 })

/** What holds for every rule, shown on one of them: blocking, resetting, peeking, and clocks that do not run straight. */
export const operationExamples: readonly WorkedExample[] = [
  {
    title: 'block: refuses until its end and not longer, however often the client tries',
    rule: perSecond,
    turns: [
      [
        0,
        'block',
        1_000,
        { allowed: false, remaining: 0, retryAfterMs: 1_000, resetAfterMs: 1_000, reason: 'blocked' },
      ],
      [1, 'consume', 1, { allowed: false, remaining: 0, retryAfterMs: 999, reason: 'blocked' }],
      [500, 'consume', 1, { allowed: false, retryAfterMs: 500 }],
      [999, 'consume', 5, { allowed: false, retryAfterMs: 1 }],
      [1_000, 'consume', 5, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'block: says when the request passes, block and rule both considered',
    rule: perSecond,
    turns: [
      [0, 'consume', 5, { allowed: true }],
      [0, 'block', 1_500, { retryAfterMs: 1_500, resetAfterMs: 5_000 }],
      [0, 'consume', 3, { allowed: false, retryAfterMs: 3_000, reason: 'blocked' }],
      [0, 'consume', 6, { allowed: false, retryAfterMs: Infinity, reason: 'cost-exceeds-limit' }],
      [1_500, 'peek', 3, { allowed: false, remaining: 1, retryAfterMs: 1_500, reason: 'limit' }],
    ],
  },
  {
    title:
      'block: a later block makes an earlier one longer and never shorter, and unblock ends it but keeps the counts',
    rule: perSecond,
    turns: [
      [0, 'consume', 3, { remaining: 2 }],
      [0, 'block', 100, { retryAfterMs: 100 }],
      [0, 'block', 9_000, { retryAfterMs: 9_000 }],
      [50, 'block', 100, { retryAfterMs: 8_950 }],
      [50, 'unblock', 0, { allowed: true, remaining: 2, retryAfterMs: 0 }],
      [50, 'consume', 1, { allowed: true, remaining: 1 }],
      [50, 'block', 100, { retryAfterMs: 100 }],
    ],
  },
  {
    title: 'unblock: forgets with the block what is as if untouched by then, and nothing where there is no block',
    rule: perSecond,
    turns: [
      [100_000, 'consume', 5, { remaining: 0 }],
      [105_000, 'unblock', 0, { remaining: 5, resetAfterMs: 0 }],
      [104_000, 'peek', 1, { remaining: 4, resetAfterMs: 1_000 }],
      [104_000, 'block', 60_000, { retryAfterMs: 60_000 }],
      [105_000, 'unblock', 0, { remaining: 5, resetAfterMs: 0 }],
      [104_000, 'peek', 1, { remaining: 5, resetAfterMs: 0 }],
    ],
  },
  {
    title: 'block: charge and refund count underneath',
    rule: perSecond,
    turns: [
      [0, 'block', 100, { allowed: false }],
      [0, 'charge', 4, { allowed: false, remaining: 0, reason: 'blocked', resetAfterMs: 4_000 }],
      [0, 'refund', 1, { allowed: false, resetAfterMs: 3_000 }],
      [100, 'peek', 1, { allowed: true, remaining: 2 }],
    ],
  },
  {
    title: 'reset: forgets counts, debt and block',
    rule: perSecond,
    turns: [
      [0, 'charge', 9, { allowed: false, resetAfterMs: 9_000 }],
      [0, 'block', 60_000, { allowed: false }],
      [0, 'reset', 0, { allowed: true, remaining: 5, retryAfterMs: 0, resetAfterMs: 0 }],
      [0, 'consume', 5, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'peek: answers for the cost it is asked about and takes nothing',
    rule: perSecond,
    turns: [
      [0, 'consume', 3, { remaining: 2 }],
      [0, 'peek', 2, { allowed: true, remaining: 2 }],
      [0, 'peek', 3, { allowed: false, remaining: 2, retryAfterMs: 1_000 }],
      [0, 'peek', 0, { allowed: true, remaining: 2 }],
      [0, 'consume', 2, { allowed: true, remaining: 0 }],
      [0, 'peek', 0, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'refund: on an untouched key changes nothing',
    rule: fixedWindow({ limit: 5, window: 1_000 }),
    turns: [
      [0, 'refund', 7, { allowed: true, remaining: 5, resetAfterMs: 0 }],
      [0, 'consume', 6, { allowed: false, reason: 'cost-exceeds-limit' }],
      [0, 'consume', 5, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'clock: set back to its very start, where what a log remembers is older than time',
    rule: slidingLog({ limit: 2, window: 60_000 }),
    turns: [
      [4_000_000, 'consume', 1, { allowed: true, remaining: 1 }],
      [400_000, 'consume', 2, { allowed: false, retryAfterMs: 60_000 }],
      [400_001, 'consume', 1, { allowed: true, remaining: 0 }],
      [0, 'refund', 1, { allowed: true, remaining: 1, resetAfterMs: 59_999 }],
      [0, 'consume', 1, { allowed: true, remaining: 0, resetAfterMs: 60_000 }],
      [0, 'block', 1, { allowed: false, retryAfterMs: 59_999, reason: 'blocked' }],
    ],
  },
  {
    title: 'clock: a small step back is waited out, and the wait is part of retryAfterMs',
    rule: perSecond,
    turns: [
      [100_000, 'consume', 5, { allowed: true, remaining: 0 }],
      [70_000, 'consume', 1, { allowed: false, remaining: 0, retryAfterMs: 31_000, resetAfterMs: 35_000 }],
      [100_999, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [101_000, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'clock: after a large step back the level is kept and the wait starts from the new time',
    rule: perSecond,
    turns: [
      [100_000, 'consume', 5, { allowed: true, remaining: 0 }],
      [3_000, 'consume', 1, { allowed: false, remaining: 0, retryAfterMs: 1_000, resetAfterMs: 5_000 }],
      [3_999, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [4_000, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'clock: a large step back moves a whole log, newest and oldest alike',
    rule: slidingLog({ limit: 2, window: 1_000 }),
    turns: [
      [200_000, 'consume', 1, { allowed: true }],
      [200_600, 'consume', 1, { allowed: true }],
      [5_000, 'consume', 1, { allowed: false, retryAfterMs: 400 }],
      [5_400, 'consume', 1, { allowed: true, remaining: 0 }],
    ],
  },
  {
    title: 'clock: a block that has moved back with the clock is longer than a shorter one',
    rule: perSecond,
    turns: [
      [7_200_000, 'block', 5_000, { retryAfterMs: 5_000 }],
      [3_600_000, 'block', 4_000, { retryAfterMs: 5_000 }],
      [3_601_001, 'block', 4_000, { retryAfterMs: 4_000 }],
    ],
  },
  {
    title: 'clock: of two blocks that end at once the later one moves back with the clock',
    rule: perSecond,
    turns: [
      [7_200_000, 'block', 9_000, { retryAfterMs: 9_000 }],
      [7_205_000, 'block', 4_000, { retryAfterMs: 4_000 }],
      [3_600_000, 'peek', 1, { retryAfterMs: 4_000, reason: 'blocked' }],
    ],
  },
  {
    title: 'clock: a block stays when what is counted moves back with the clock',
    rule: perSecond,
    turns: [
      [7_200_000, 'consume', 1, { remaining: 4 }],
      [7_200_000, 'block', 5_000, { retryAfterMs: 5_000 }],
      [3_600_000, 'consume', 1, { allowed: false, retryAfterMs: 5_000, reason: 'blocked' }],
      [3_604_999, 'consume', 1, { allowed: false, retryAfterMs: 1, reason: 'blocked' }],
      [3_605_000, 'consume', 1, { allowed: true, remaining: 4 }],
    ],
  },
  {
    title: 'clock: a block lasts as long as it was meant to when the clock is set back',
    rule: perSecond,
    turns: [
      [7_200_000, 'block', 5_000, { retryAfterMs: 5_000 }],
      [3_600_000, 'consume', 1, { allowed: false, retryAfterMs: 5_000, reason: 'blocked' }],
      [3_604_999, 'consume', 1, { allowed: false, retryAfterMs: 1 }],
      [3_605_000, 'consume', 1, { allowed: true }],
    ],
  },
  {
    title: 'clock: a jump ahead fills no more than the capacity',
    rule: perSecond,
    turns: [
      [0, 'consume', 5, { remaining: 0 }],
      [3_600_000, 'consume', 1, { allowed: true, remaining: 4 }],
      [0, 'consume', 5, { allowed: false, remaining: 4, retryAfterMs: 1_000 }],
    ],
  },
]
