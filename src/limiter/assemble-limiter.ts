import type { Health, StoreEvents } from '../core/store.ts'
import type { Listeners } from './events.ts'
import { type LimiterParts, TieredLimiter } from './tiered-limiter.ts'

/** What a limiter is assembled from. Trusted: its caller has checked it. */
export interface LimiterAssembly extends Omit<LimiterParts, 'health'> {
  /** Among how many instances a limit is shared without the store. Absent: the store counts them. */
  readonly instances: number | undefined
  readonly denialCacheMs: number
}

/** Puts the layers around a store that is not local, registers the limits with it, and makes the limiter. */
export function assembleLimiter(assembly: LimiterAssembly): TieredLimiter {
  const { limits, store, clock, timeoutMs, instances, denialCacheMs } = assembly
  const events = createStoreEvents(assembly.events)
  const prefetches = limits.some(({ prefetch }) => prefetch !== undefined)
  // What is in this process answers at once, or has a fault that no layer should hide.
  const layered = store.isLocal
    ? undefined
    : store.layers?.(store, { clock, timeoutMs, instances, denialCacheMs, prefetches, events })
  for (const limit of limits) (layered ?? store).register(limit)
  return new TieredLimiter({
    ...assembly,
    // A layer is the limiter's own.
    ...(layered !== undefined && { store: layered, ownsStore: true }),
    timeoutMs: layered === undefined ? 0 : timeoutMs,
    health: () => layered?.health ?? HEALTHY,
  })
}

/** The health of a store in this process. */
const HEALTHY: Health = Object.freeze({ state: 'healthy', forMs: 0, error: undefined })

function createStoreEvents(listeners: Listeners): StoreEvents {
  return {
    has: (name) => listeners.has(name),
    storeFailed: (error) => listeners.emit('storeFailed', { error }),
    degraded: (error) => listeners.emit('degraded', { error }),
    recovered: (afterMs) => listeners.emit('recovered', { afterMs }),
    prefetched: ({ name }, what, units) => listeners.emit('prefetched', { tier: name, what, units }),
  }
}
