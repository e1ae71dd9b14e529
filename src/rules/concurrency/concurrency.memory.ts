import type { Outcome } from '../../core/rule.ts'
import { stepTimeline, type Timeline } from '../timeline.ts'

interface Parameters {
  readonly limit: number
  readonly leaseMs: number
  readonly maxDebt: number
}

/** One step of the concurrency limit. */
export function stepConcurrency(
  { limit, leaseMs, maxDebt }: Parameters,
  state: Timeline | undefined,
  nowMs: number,
  cost: number,
  force: boolean,
  takenMs?: number,
): Outcome<Timeline> {
  return stepTimeline({ limit, maxDebt, spanMs: leaseMs, returns: 'oldest' }, state, nowMs, cost, force, takenMs)
}
