import type { AdjustResult, StepResult } from '../../core/rule.ts'
import { adjustTimeline, stepTimeline, type Timeline } from '../timeline.ts'

interface Parameters {
  readonly limit: number
  readonly windowMs: number
  readonly maxDebt: number
}

/** One step of the sliding log. */
export function stepSlidingLog(
  { limit, windowMs }: Parameters,
  state: Timeline | undefined,
  nowMs: number,
  cost: number,
): StepResult<Timeline> {
  return stepTimeline(limit, windowMs, state, nowMs, cost)
}

/** One adjustment of the sliding log. */
export function adjustSlidingLog(
  { limit, windowMs, maxDebt }: Parameters,
  state: Timeline | undefined,
  nowMs: number,
  amount: number,
  takenMs?: number,
): AdjustResult<Timeline> {
  return adjustTimeline({ limit, maxDebt, spanMs: windowMs, returns: 'newest' }, state, nowMs, amount, takenMs)
}
