import { strict as assert } from 'node:assert'
import type { LimitResult } from '../core/decision.ts'
import { createLimit } from '../core/limit.ts'
import { createOperation, type OperationParts, type OperationType } from '../core/operation.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { slidingLog } from '../rules/sliding-log/sliding-log.ts'
import type { StoreCheck } from './store-checks.ts'

const short = slidingLog({ limit: 2, window: 7 })
const long = slidingLog({ limit: 2, window: 61_000 })
const NOW_MS = 4_000_000

/** What a store has to do with a block while rules of other numbers count the same key. */
export const changeChecks: readonly StoreCheck[] = [
  {
    title: 'changes: a block is known for as long as what another rule has counted',
    async check(store, name) {
      const ask = openKey(store, name)
      await ask(short, 'charge', NOW_MS, { amount: 2 })
      await ask(long, 'peek', NOW_MS, { amount: 1 })
      assert.deepEqual(told(await ask(short, 'consume', NOW_MS, { amount: 1, blockMs: 250 })), ['limit', 250])
      // Only the first refusal blocks, until something has passed.
      const later = await ask(long, 'consume', NOW_MS + 60_999, { amount: 1, blockMs: 250 })
      assert.deepEqual(told(later), ['limit', 1])
    },
  },
  {
    title: 'changes: a block that is over is known whether or not an old state of another rule is still there',
    async check(store, name) {
      const ask = openKey(store, name)
      await ask(short, 'charge', NOW_MS, { amount: 2 })
      await ask(short, 'consume', NOW_MS, { amount: 1, blockMs: 250 })
      await ask(long, 'peek', NOW_MS + 60_100, { amount: 1 })
      // The clock was set back.
      const refused = await ask(long, 'peek', NOW_MS + 100, { amount: 1 })
      assert.deepEqual(told(refused), ['blocked', 150])
    },
  },
]

type Ask = (rule: Rule, type: OperationType, nowMs: number, parts: OperationParts) => Promise<LimitResult>

/** One key of a limit whose rules vary, asked past any limiter: no option of a limiter has two rules for one key at one time. */
function openKey(store: Store, limiter: string): Ask {
  const limit = createLimit({ limiter, rule: short, rulesVary: true })
  store.register(limit)
  return async (rule, type, nowMs, parts) => {
    const operations = [createOperation({ limit, subject: 'a', key: 'a' }, type, { ...parts, rule })]
    const results = await new Promise<readonly LimitResult[]>((done, failed) => {
      const known = store.decide({ operations, nowMs, idempotency: undefined, timeoutMs: 0 }, { done, failed })
      if (known !== undefined) done(known)
    })
    return results[0] as LimitResult
  }
}

function told({ reason, retryAfterMs }: LimitResult): readonly unknown[] {
  return [reason, retryAfterMs]
}
