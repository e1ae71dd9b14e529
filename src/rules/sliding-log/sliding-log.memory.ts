import type { Outcome } from '../../core/rule.ts'
import { stepTimeline, type Timeline } from '../timeline.ts'

interface Parameters {
  readonly limit: number
  readonly windowMs: number
  readonly maxDebt: number
}

/** One step of the sliding log. */
export function stepSlidingLog(
  { limit, windowMs, maxDebt }: Parameters,
  state: Timeline | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
  takenMs?: number,
): Outcome<Timeline> {
  return stepTimeline({ limit, maxDebt, spanMs: windowMs, returns: 'newest' }, state, nowMs, cost, force, takenMs)
}
