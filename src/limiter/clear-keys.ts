import { createLimit } from '../core/limit.ts'
import type { Rule } from '../core/rule.ts'
import type { Store } from '../core/store.ts'
import { forgetDenials } from '../stores/denial-cache.ts'

/** Makes the function that forgets all keys of a limiter of one rule. `undefined` where the store cannot. */
export function createClear(store: Store, limiter: string, rule: Rule): (() => Promise<void>) | undefined {
  if (store.clear === undefined) return undefined
  const limit = createLimit({ limiter, rule })
  store.register(limit)
  return async () => {
    await store.clear?.(limit)
    forgetDenials(store, limiter)
  }
}
