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
export type { AdjustResult, Rule, RuleState, StateCodec, StepResult } from './core/rule.ts'
export type {
  Health,
  Idempotency,
  LayeredStore,
  LayerOptions,
  Reply,
  Store,
  StoreCall,
  StoreEvents,
} from './core/store.ts'
export { decide } from './engine/decide.ts'
export { decideAll, type JointTransition } from './engine/decide-all.ts'
export type { Hold as HoldEntry } from './engine/holds.ts'
export { type Block, type KeyState, type Transition, UNTOUCHED } from './engine/key-state.ts'
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
  Key,
  LimiterOptions,
  LimitOptions,
  ReserveOptions,
  Scheduled,
  TiersOptions,
  WaitOptions,
} from './limiter/options.ts'
export type { Hold, OpenHold } from './limiter/reservation.ts'
export type { Policy } from './limiter/rule-resolver.ts'
export * from './rules/index.ts'
export {
  type MemoryStats,
  type MemoryStore,
  type MemoryStoreOptions,
  memoryStore,
} from './stores/memory/memory-store.ts'
export { remoteLayers } from './stores/remote-layers.ts'
