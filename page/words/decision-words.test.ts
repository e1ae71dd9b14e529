import { expect, it } from 'vitest'
import { describeDecision, type Tellable } from './decision-words.ts'

const ALLOWED: Tellable = {
  allowed: true,
  limit: 1_000,
  remaining: 999,
  retryAfterMs: 0,
  resetAfterMs: 60_000,
  delayMs: 0,
}
const REFUSED: Tellable = { ...ALLOWED, allowed: false, remaining: 0, retryAfterMs: 5_200, reason: 'limit' }

it.each<[Tellable, string]>([
  [ALLOWED, 'Allowed. 999 of 1,000 remain; all of it is back in 1 min if no request comes.'],
  [{ ...ALLOWED, resetAfterMs: 0 }, 'Allowed. 999 of 1,000 remain.'],
  [{ ...ALLOWED, resetAfterMs: null }, 'Allowed. 999 of 1,000 remain.'],
  [{ ...ALLOWED, remaining: 1, resetAfterMs: 0 }, 'Allowed. 1 of 1,000 remains.'],
  [{ ...ALLOWED, resetAfterMs: 0, delayMs: 250 }, 'Allowed, after a wait of 250 ms. 999 of 1,000 remain.'],
  [
    { ...ALLOWED, resetAfterMs: 0, wouldRefuse: ['ip', 'global'] },
    'Allowed. 999 of 1,000 remain. In shadow mode ip and global would have rejected it.',
  ],
  [REFUSED, 'Rejected: nothing is left of 1,000. Try again in 5.2 s.'],
  [{ ...REFUSED, remaining: 3, limitedBy: 'ip' }, 'Rejected by ip: only 3 of 1,000 are left. Try again in 5.2 s.'],
  [{ ...REFUSED, remaining: 1 }, 'Rejected: only 1 of 1,000 is left. Try again in 5.2 s.'],
  [{ ...REFUSED, reason: null, limitedBy: null }, 'Rejected: nothing is left of 1,000. Try again in 5.2 s.'],
  [
    { ...REFUSED, reason: 'cost-exceeds-limit', retryAfterMs: null },
    'Rejected: the cost is more than the limit of 1,000. It never passes.',
  ],
  [
    { ...REFUSED, reason: 'cost-exceeds-limit', retryAfterMs: Number.POSITIVE_INFINITY },
    'Rejected: the cost is more than the limit of 1,000. It never passes.',
  ],
  [{ ...REFUSED, reason: 'blocked' }, 'Rejected: the key is blocked. Try again in 5.2 s.'],
  [{ ...REFUSED, reason: 'queue-full' }, 'Rejected: too many callers wait for the key. Try again in 5.2 s.'],
  [{ ...REFUSED, reason: 'reservation-ended' }, 'Rejected: the reservation has ended. Try again in 5.2 s.'],
  [{ ...REFUSED, reason: 'store-unavailable' }, 'Rejected: the store did not answer. Try again in 5.2 s.'],
])('tells %j', (decision, words) => {
  expect(describeDecision(decision)).toBe(words)
})
