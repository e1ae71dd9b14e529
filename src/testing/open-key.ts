import type { LimitResult } from '../core/decision.ts'
import { createLimit } from '../core/limit.ts'
import { createOperation, type OperationParts, type OperationType } from '../core/operation.ts'
import type { Store } from '../core/store.ts'

/** Does something to one key. */
export type AskKey = (type: OperationType, nowMs: number, parts: OperationParts) => Promise<LimitResult>

/** One key of a limit, asked past any limiter: for what no option of a limiter does. */
export function openKey(store: Store, given: Parameters<typeof createLimit>[0]): AskKey {
  const limit = createLimit(given)
  store.register(limit)
  return async (type, nowMs, parts) => {
    const operations = [createOperation({ limit, subject: 'a', key: 'a' }, type, parts)]
    const results = await new Promise<readonly LimitResult[]>((done, failed) => {
      const known = store.decide({ operations, nowMs, idempotency: undefined, timeoutMs: 0 }, { done, failed })
      if (known !== undefined) done(known)
    })
    return results[0] as LimitResult
  }
}
