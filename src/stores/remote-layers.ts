import { createHoldId } from '../core/hold-id.ts'
import { isRequestBound } from '../core/request-bound.ts'
import type { Rule } from '../core/rule.ts'
import type { LayeredStore, LayerOptions, Store, StoreEvents } from '../core/store.ts'
import { withDenialCache } from './denial-cache.ts'
import { withFailover } from './failover/failover.ts'
import { createPresence } from './failover/presence.ts'
import { memoryStore } from './memory/memory-store.ts'
import { withPrefetch } from './prefetch/prefetch.ts'

/**
 * The layers around a store that is not in this process: a timeout, a circuit breaker, a fallback in memory, a cache of refusals, and grants
 * for hot keys where a limit wants them.
 */
export function remoteLayers(store: Store, options: LayerOptions): LayeredStore {
  return addLayers(store, options, createPresence())
}

/** The same with the rule that instances are counted by. */
export function addLayers(
  store: Store,
  { denialCacheMs, prefetches, ...options }: LayerOptions,
  presence: Rule,
): LayeredStore {
  const failover = withFailover(store, { ...options, createLocal: memoryStore, presence })
  const cached = withDenialCache(failover, { base: store, maxAgeMs: denialCacheMs })
  return {
    ...(prefetches && !isRequestBound() ? addPrefetch(cached, denialCacheMs, options) : cached),
    get health() {
      return failover.health
    },
  }
}

function addPrefetch(
  store: Store,
  denialCacheMs: number,
  { clock, timeoutMs, events }: Pick<LayerOptions, 'clock' | 'timeoutMs' | 'events'>,
): Store {
  const count: StoreEvents['prefetched'] = (limit, what, units) => events.prefetched(limit, what, units)
  return withPrefetch(store, { clock, timeoutMs, denialCacheMs, createId: createHoldId, count })
}
