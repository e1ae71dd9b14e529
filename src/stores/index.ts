// `sluice/store`: for authors of stores and rules. Users of a limiter never type these names.
export { STORE_TIME } from '../core/clock.ts'
export type { LimitResult } from '../core/decision.ts'
export { encodeScope } from '../core/key.ts'
export { createLimit, type Limit, type PrefetchTerms } from '../core/limit.ts'
export {
  createOperation,
  type LimitKey,
  type Operation,
  type OperationParts,
  type OperationType,
} from '../core/operation.ts'
export type { AdjustResult, BulkRefunds, Rule, RuleState, Slots, StateCodec, StepResult, Taken } from '../core/rule.ts'
export type {
  Decide,
  Idempotency,
  LayeredStore,
  LayerOptions,
  PrefetchCount,
  Reply,
  Store,
  StoreCall,
  StoreEvents,
} from '../core/store.ts'
export { decide } from '../engine/decide.ts'
export { decideAll, type JointTransition } from '../engine/decide-all.ts'
export type { Hold as HoldEntry, Holds as HoldEntries } from '../engine/holds.ts'
export { type Block, type KeyState, type Transition, UNTOUCHED } from '../engine/key-state.ts'
