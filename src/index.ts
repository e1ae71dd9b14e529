export { type Clock, STORE_TIME, systemClock } from './core/clock.ts'
export { decide } from './core/decide.ts'
export { decideTogether, type JointRuling, type Part } from './core/decide-together.ts'
export type { DecidedBy, Decision, Reason, TierVerdict, Verdict } from './core/decision.ts'
export { duration } from './core/duration.ts'
export { type Block, type Entry, type Ruling, UNTOUCHED } from './core/entry.ts'
export type { Hold as HoldEntry } from './core/holds.ts'
export { encodeScope, type Subject } from './core/key.ts'
export { LimiterError, type LimiterErrorCode } from './core/limiter-error.ts'
export type { Request } from './core/request.ts'
export type { Outcome, Rule, RuleState, StateCells } from './core/rule.ts'
export type { Answer, Listener, Memo, Order, Place, Shelf, Store } from './core/store.ts'
export {
  type CommonOptions,
  createLimiter,
  type LimiterOptions,
  type TiersOptions,
} from './limiter/create-limiter.ts'
export type { LimiterEvents } from './limiter/events.ts'
export type { Hold, OpenHold } from './limiter/hold.ts'
export type { Lease } from './limiter/lease.ts'
export type {
  AcquireOptions,
  Amounts,
  BlockOptions,
  ConsumeOptions,
  CostOptions,
  Key,
  Limiter,
  ReserveOptions,
  Scheduled,
  WaitOptions,
} from './limiter/limiter.ts'
export type { Health } from './limiter/outage/breaker.ts'
export type { OnStoreFailure } from './limiter/outage/store-failure.ts'
export type { Policy } from './limiter/policy-cache.ts'
export type { Limit } from './limiter/tier.ts'
export * from './rules/index.ts'
export {
  type MemoryStats,
  type MemoryStore,
  type MemoryStoreOptions,
  memoryStore,
} from './stores/memory/memory-store.ts'
