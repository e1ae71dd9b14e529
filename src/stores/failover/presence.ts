import type { Rule } from '../../core/rule.ts'
import { describeConcurrency } from '../../rules/concurrency/concurrency.memory.ts'
import { concurrency } from '../../rules/concurrency/concurrency.ts'

/** An instance that has asked for nothing for this long needs no share. */
export const PRESENT_MS = 30_000

/** More than there ever are. */
export const MOST_INSTANCES = 1_000

/** The rule that instances are counted by: each holds a permit of it. */
export function createPresence(): Rule {
  return concurrency({ limit: MOST_INSTANCES, lease: PRESENT_MS })
}

/** The same rule for a store that decides by scripts of its own: it brings no functions along. */
export function describePresence(): Rule {
  const parameters = { limit: MOST_INSTANCES, leaseMs: PRESENT_MS, maxDebt: MOST_INSTANCES }
  return describeConcurrency(parameters) as Rule
}
