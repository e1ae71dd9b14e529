import { strict as assert } from 'node:assert'
import type { LimitResult } from '../core/decision.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import { openKey } from './open-key.ts'
import type { StoreCheck } from './store-checks.ts'

const short = slidingLog({ limit: 2, window: 7 })
const long = slidingLog({ limit: 2, window: 61_000 })
const NOW_MS = 4_000_000

/** What a store has to do with a block while rules of other numbers count the same key. */
export const changeChecks: readonly StoreCheck[] = [
  {
    title: 'changes: a block is known for as long as what another rule has counted',
    async check(store, name) {
      const ask = openKey(store, { limiter: name, rule: short, rulesVary: true })
      await ask('charge', NOW_MS, { rule: short, amount: 2 })
      await ask('peek', NOW_MS, { rule: long, amount: 1 })
      assert.deepEqual(told(await ask('consume', NOW_MS, { rule: short, amount: 1, blockMs: 250 })), ['limit', 250])
      // Only the first refusal blocks, until something has passed.
      const later = await ask('consume', NOW_MS + 60_999, { rule: long, amount: 1, blockMs: 250 })
      assert.deepEqual(told(later), ['limit', 1])
    },
  },
  {
    title: 'changes: a block that is over is known whether or not an old state of another rule is still there',
    async check(store, name) {
      const ask = openKey(store, { limiter: name, rule: short, rulesVary: true })
      await ask('charge', NOW_MS, { rule: short, amount: 2 })
      await ask('consume', NOW_MS, { rule: short, amount: 1, blockMs: 250 })
      await ask('peek', NOW_MS + 60_100, { rule: long, amount: 1 })
      // The clock was set back.
      const refused = await ask('peek', NOW_MS + 100, { rule: long, amount: 1 })
      assert.deepEqual(told(refused), ['blocked', 150])
    },
  },
]

function told({ reason, retryAfterMs }: LimitResult): readonly unknown[] {
  return [reason, retryAfterMs]
}
