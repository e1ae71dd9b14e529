import { strict as assert } from 'node:assert'
import type { LimitResult } from '../core/decision.ts'
import type { GrantRequest, OperationParts } from '../core/operation.ts'
import { fixedWindow } from '../rules/fixed-window/fixed-window.ts'
import { leakyBucket } from '../rules/leaky-bucket/leaky-bucket.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { tokenBucket } from '../rules/token-bucket/token-bucket.ts'
import { openKey } from './open-key.ts'
import type { StoreCheck } from './store-checks.ts'

const NOW_MS = 4_000_000
const log = slidingLog({ limit: 100, window: 1_000 })

/** What a store has to do with the grants of processes that prefetch. */
export const grantChecks: readonly StoreCheck[] = [
  {
    title: 'grants: count in full until they end, and then as taken in their last millisecond',
    async check(store, limiter) {
      const ask = openKey(store, { limiter, rule: log })
      assert.deepEqual(granted(await ask('grant', NOW_MS, want(1, 1, 41))), [59, 40, 100, 1, 100])
      assert.equal((await ask('peek', NOW_MS + 99, { amount: 1 })).remaining, 59)
      // 41 would pass if the grant was settled; 40 of them count until they leave the log.
      assert.deepEqual(told(await ask('consume', NOW_MS + 99, { amount: 61 })), ['limit', 1_000])
      assert.deepEqual(told(await ask('consume', NOW_MS + 1_098, { amount: 61 })), ['limit', 1])
      assert.equal((await ask('consume', NOW_MS + 1_099, { amount: 100 })).remaining, 0)
    },
  },
  {
    title: 'grants: end where a process settles them or asks for another one, and only what was used counts',
    async check(store, limiter) {
      const ask = openKey(store, { limiter, rule: log })
      await ask('grant', NOW_MS, want(1, 1, 41))
      const renewed = await ask('grant', NOW_MS + 50, want(2, 1, 41, { endedId: 1, endedUsed: 20 }))
      assert.deepEqual(granted(renewed), [39, 39, 98, 1, 98])
      const settled = await ask('settle', NOW_MS + 60, { holdId: 2, amount: 8 })
      assert.deepEqual([settled.allowed, settled.remaining], [true, 70])
      assert.equal((await ask('settle', NOW_MS + 60, { holdId: 2, amount: 8 })).reason, 'reservation-ended')
      assert.equal((await ask('settle', NOW_MS + 60, { holdId: 1, amount: 8 })).remaining, 70)
    },
  },
  {
    title: 'grants: are smaller where less is left, and a refused request gets none',
    async check(store, limiter) {
      const ask = openKey(store, { limiter, rule: tokenBucket({ capacity: 100, refill: 1, period: 1_000 }) })
      await ask('charge', NOW_MS, { amount: 69 })
      assert.deepEqual(granted(await ask('grant', NOW_MS, want(1, 1, 50))), [15, 15, 32, 1, 32])
      assert.deepEqual(granted(await ask('grant', NOW_MS, want(2, 1, 50, { soon: 9 }))), [6, 8, 18, 2, 32])
      const refused = await ask('grant', NOW_MS, want(3, 7, 50))
      assert.deepEqual([refused.allowed, refused.retryAfterMs], [false, 1_000])
      assert.deepEqual(granted(refused), [6, 0, 0, 2, 32])
    },
  },
  {
    title: 'grants: stay through a reset, a block and a charge',
    async check(store, limiter) {
      const ask = openKey(store, { limiter, rule: log })
      await ask('grant', NOW_MS, want(1, 1, 41))
      assert.equal((await ask('reset', NOW_MS, {})).remaining, 60)
      assert.equal((await ask('charge', NOW_MS, { amount: 10 })).remaining, 50)
      assert.equal((await ask('refund', NOW_MS, { amount: 50 })).remaining, 60)
      await ask('block', NOW_MS, { amount: 500 })
      const blocked = await ask('grant', NOW_MS, want(2, 1, 41))
      assert.deepEqual([blocked.reason, ...granted(blocked)], ['blocked', 0, 0, 0, 1, 100])
      assert.equal((await ask('peek', NOW_MS + 500, { amount: 1 })).remaining, 60)
      assert.equal((await ask('reset', NOW_MS + 500, {})).remaining, 100)
    },
  },
  {
    title: 'grants: end with the window that a first request has opened, and a rule that shapes gives none',
    async check(store, limiter) {
      const opened = openKey(store, { limiter, rule: fixedWindow({ limit: 100, window: 1_000, anchor: 'first-hit' }) })
      await opened('consume', NOW_MS + 500, { amount: 1 })
      assert.deepEqual(granted(await opened('grant', NOW_MS + 1_490, want(1, 1, 41))), [94, 4, 10, 1, 10])
      assert.equal((await opened('peek', NOW_MS + 1_500, { amount: 1 })).remaining, 100)
      const shape = leakyBucket({ capacity: 100, leak: 10, period: 1_000, mode: 'shape' })
      const shaped = openKey(store, { limiter: `${limiter} shaped`, rule: shape })
      assert.deepEqual(granted(await shaped('grant', NOW_MS, want(1, 1, 41))), [99, 0, 0, 0, 0])
    },
  },
]

/** A grant of up to `want - amount` for 100 ms. */
function want(holdId: number, amount: number, want: number, more: Partial<GrantRequest> = {}): OperationParts {
  return { holdId, amount, holdMs: 100, grant: { want, soon: 0, soonMs: 10, endedId: 0, endedUsed: 0, ...more } }
}

function granted({ remaining, granted }: LimitResult): readonly unknown[] {
  return [remaining, granted?.units, granted?.lastsMs, granted?.live, granted?.endsMs]
}

function told({ reason, retryAfterMs }: LimitResult): readonly unknown[] {
  return [reason, retryAfterMs]
}
