import type { Clock } from '../core/clock.ts'
import type { Limit } from '../core/limit.ts'
import type { Health, Store, StoreEvents } from '../core/store.ts'
import type { Listeners } from './events.ts'
import type { RuleResolver } from './rule-resolver.ts'
import { TieredLimiter } from './tiered-limiter.ts'

/** What a limiter is assembled from. Trusted: its caller has checked it. */
export interface LimiterAssembly {
  readonly name: string
  readonly limits: readonly Limit[]
  /** Who finds the rule for a subject, where a limit has such. */
  readonly resolvers: ReadonlyMap<Limit, RuleResolver>
  readonly store: Store
  /** Whether the store ends with the limiter. */
  readonly ownsStore: boolean
  readonly clock: Clock | undefined
  readonly events: Listeners
  readonly timeoutMs: number
  /** Among how many instances a limit is shared without the store. Absent: the store counts them. */
  readonly instances: number | undefined
  readonly denialCacheMs: number
  readonly idempotencyTtlMs: number
  readonly maxQueue: number
}

/** Puts the layers around a store that is not local, registers the limits with it, and makes the limiter. */
export function assembleLimiter(assembly: LimiterAssembly): TieredLimiter {
  const { name, limits, resolvers, store, ownsStore, clock, events, timeoutMs, instances, denialCacheMs } = assembly
  const storeEvents = createStoreEvents(events)
  // What is in this process answers at once, or has a fault that no layer should hide.
  const options = { clock, timeoutMs, instances, denialCacheMs, events: storeEvents }
  const layered = store.isLocal ? undefined : store.layers?.(store, options)
  for (const limit of limits) (layered ?? store).register(limit)
  return new TieredLimiter({
    name,
    limits,
    resolvers,
    store: layered ?? store,
    health: () => layered?.health ?? HEALTHY,
    // A layer is the limiter's own.
    closesStore: layered !== undefined || ownsStore,
    timeoutMs: layered === undefined ? 0 : timeoutMs,
    clock,
    events,
    idempotencyTtlMs: assembly.idempotencyTtlMs,
    maxQueue: assembly.maxQueue,
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
  }
}
