export { type Clock, systemClock } from './core/clock.ts'
export type { Allowed, Decision, LimitName, Reason, Refused, TierResult } from './core/decision.ts'
export { type Duration, duration } from './core/duration.ts'
export type { Subject } from './core/key.ts'
export type { OnStoreFailure } from './core/limit.ts'
export { LimiterError, type LimiterErrorCode } from './core/limiter-error.ts'
export type { Rule } from './core/rule.ts'
export type { Health, Store } from './core/store.ts'
export { createLimiter } from './limiter/create-limiter.ts'
export type { LimiterEvents } from './limiter/events.ts'
export type { Lease } from './limiter/lease.ts'
export type { Limiter } from './limiter/limiter.ts'
export type {
  AcquireOptions,
  Amounts,
  BlockOptions,
  CommonOptions,
  ConsumeOptions,
  CostOptions,
  FailureOptions,
  Key,
  LimiterOptions,
  LimitOptions,
  PrefetchOptions,
  ReserveOptions,
  RuleOrTiers,
  Scheduled,
  TiersOptions,
  WaitOptions,
} from './limiter/options.ts'
export type { OpenReservation, Reservation } from './limiter/reservation.ts'
export type { ResolveRule } from './limiter/rule-resolver.ts'
export * from './rules/index.ts'
export {
  type MemoryStats,
  type MemoryStore,
  type MemoryStoreOptions,
  memoryStore,
} from './stores/memory/memory-store.ts'
export { remoteLayers } from './stores/remote-layers.ts'
