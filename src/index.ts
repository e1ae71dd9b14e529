export { type Clock, STORE_TIME, systemClock } from './core/clock.ts'
export * as decide from './core/decide.ts'
export type { DecidedBy, Decision, Reason, TierVerdict, Verdict } from './core/decision.ts'
export { duration } from './core/duration.ts'
export { encodeScope, type Subject } from './core/key.ts'
export { LimiterError, type LimiterErrorCode } from './core/limiter-error.ts'
export type { Outcome, Rule, RuleState, StateCells } from './core/rule.ts'
export type { Answer, Shelf, Store } from './core/store.ts'
export { createLimiter, type LimiterOptions } from './limiter/create-limiter.ts'
export type { LimiterEvents } from './limiter/events.ts'
export type { CostOptions, Limiter } from './limiter/limiter.ts'
export * from './rules/index.ts'
export {
  type MemoryStats,
  type MemoryStore,
  type MemoryStoreOptions,
  memoryStore,
} from './stores/memory/memory-store.ts'
