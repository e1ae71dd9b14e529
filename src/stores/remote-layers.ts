import type { Rule } from '../core/rule.ts'
import type { LayeredStore, LayerOptions, Store } from '../core/store.ts'
import { withDenialCache } from './denial-cache.ts'
import { withFailover } from './failover/failover.ts'
import { createPresence } from './failover/presence.ts'
import { memoryStore } from './memory/memory-store.ts'

/** The layers around a store that is not in this process: a timeout, a circuit breaker, a fallback in memory, and a cache of refusals. */
export function remoteLayers(store: Store, options: LayerOptions): LayeredStore {
  return addLayers(store, options, createPresence())
}

/** The same with the rule that instances are counted by. */
export function addLayers(store: Store, { denialCacheMs, ...options }: LayerOptions, presence: Rule): LayeredStore {
  const failover = withFailover(store, { ...options, createLocal: memoryStore, presence })
  return {
    ...withDenialCache(failover, { base: store, maxAgeMs: denialCacheMs }),
    get health() {
      return failover.health
    },
  }
}
