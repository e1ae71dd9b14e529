import { DueQueue } from '../../src/core/due-queue.ts'
import type { Limit } from '../../src/core/limit.ts'
import { createOperation } from '../../src/core/operation.ts'
import type { Rule } from '../../src/core/rule.ts'
import { decide } from '../../src/engine/decide.ts'
import { UNTOUCHED } from '../../src/engine/key-state.ts'

/** An admission of one unit, and when it was made by the server's clock: at one of two times where that is not known better. */
export interface DatedAdmission {
  readonly by: string
  readonly fromMs: number
  readonly untilMs: number
}

/**
 * Those that Redis and its grants admitted, and whose time is known to 2 ms. On a busy machine that is not known of a few: without them as much
 * less would be refused at most.
 */
export function wellDated(admissions: readonly DatedAdmission[]): readonly DatedAdmission[] {
  return admissions.filter(({ by, fromMs, untilMs }) => by !== 'fallback' && untilMs - fromMs <= 2)
}

/** Puts admissions to the rule itself, each at its time and in order. Returns those that the rule refuses. */
export function replay(rule: Rule, admissions: readonly DatedAdmission[]): readonly DatedAdmission[] {
  const place = { limit: { rule } as Limit, subject: 'hot', key: 'hot' }
  const operation = createOperation(place, 'consume', { rule, amount: 1 })
  const due = new DueQueue<{ readonly admission: DatedAdmission; readonly isLast: boolean }>()
  for (const admission of admissions) {
    const { fromMs, untilMs } = admission
    due.add(fromMs, { admission, isLast: Math.floor(fromMs) === Math.floor(untilMs) })
  }
  const refused: DatedAdmission[] = []
  let stored = UNTOUCHED
  while (due.nextMs < Number.POSITIVE_INFINITY) {
    const atMs = due.nextMs
    const { admission, isLast } = due.take()
    const { allowed, state, holds, countedBy, convertedOnRefusal } = decide(operation, stored, Math.floor(atMs))
    if (allowed) stored = { state, holds, block: undefined, countedBy, convertedOnRefusal }
    else if (isLast) refused.push(admission)
    else due.add(admission.untilMs, { admission, isLast: true })
  }
  return refused
}
