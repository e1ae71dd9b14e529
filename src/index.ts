export { type Clock, STORE_TIME, systemClock } from './core/clock.ts'
export type { Decision, LimitResult, Reason, TierResult } from './core/decision.ts'
export { duration } from './core/duration.ts'
export { encodeScope, type Subject } from './core/key.ts'
export { createLimit, type Limit, type OnStoreFailure } from './core/limit.ts'
export { LimiterError, type LimiterErrorCode } from './core/limiter-error.ts'
export {
  createOperation,
  type LimitKey,
  type Operation,
  type OperationParts,
  type OperationType,
} from './core/operation.ts'
export type { AdjustResult, BulkRefunds, Rule, RuleState, StateCodec, StepResult, Taken } from './core/rule.ts'
export type { Idempotency, Reply, Store, StoreCall } from './core/store.ts'
export { decide } from './engine/decide.ts'
export { decideAll, type JointTransition } from './engine/decide-all.ts'
export type { Hold as HoldEntry, Holds as HoldEntries } from './engine/holds.ts'
export { type Block, type KeyState, type Transition, UNTOUCHED } from './engine/key-state.ts'
export type {
  AcquireOptions,
  Amounts,
  BlockOptions,
  ConsumeOptions,
  CostOptions,
  Key,
  ReserveOptions,
  Scheduled,
  WaitOptions,
} from './limiter/call-options.ts'
export {
  type CommonOptions,
  createLimiter,
  type LimiterOptions,
  type TiersOptions,
} from './limiter/create-limiter.ts'
export type { LimiterEvents } from './limiter/events.ts'
export type { Hold, OpenHold } from './limiter/hold.ts'
export type { Lease } from './limiter/lease.ts'
export type { Limiter } from './limiter/limiter.ts'
export type { LimitOptions } from './limiter/options.ts'
export type { Policy } from './limiter/rule-resolver.ts'
export * from './rules/index.ts'
export type { Health } from './stores/failover/circuit-breaker.ts'
export {
  type MemoryStats,
  type MemoryStore,
  type MemoryStoreOptions,
  memoryStore,
} from './stores/memory/memory-store.ts'
