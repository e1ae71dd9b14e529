import type { AdjustResult, StepResult } from '../../core/rule.ts'
import { adjustTimeline, stepTimeline, type Timeline } from '../timeline.ts'

interface Parameters {
  readonly limit: number
  readonly leaseMs: number
  readonly maxDebt: number
}

/** One step of the concurrency limit. */
export function stepConcurrency(
  { limit, leaseMs }: Parameters,
  state: Timeline | undefined,
  nowMs: number,
  cost: number,
): StepResult<Timeline> {
  return stepTimeline(limit, leaseMs, state, nowMs, cost)
}

/** One adjustment of the concurrency limit. */
export function adjustConcurrency(
  { limit, leaseMs, maxDebt }: Parameters,
  state: Timeline | undefined,
  nowMs: number,
  amount: number,
  takenMs?: number,
): AdjustResult<Timeline> {
  return adjustTimeline({ limit, maxDebt, spanMs: leaseMs, returns: 'oldest' }, state, nowMs, amount, takenMs)
}
