import type { PrefetchTerms } from '../../core/limit.ts'
import type { GrantRequest } from '../../core/operation.ts'
import type { Rule } from '../../core/rule.ts'

/** Grants of scarce keys that would live shorter are not worth their calls. */
const LEAST_GRANT_MS = 5
/** How often all processes of a scarce key ask in the life of a grant. */
const ASKS_A_LIFE = 16

/** How long the grants of a scarce key live: of such length that `maxShare` of the limit lies unspent at most. 0: no grants. */
export function computeGrantMs(rule: Rule, { maxMs, maxShare }: PrefetchTerms): number {
  if (rule.prefetches !== true) return 0
  const grantMs = Math.floor(Math.min(maxMs, (rule.windowMs ?? Number.POSITIVE_INFINITY) * maxShare * weigh(rule)))
  return grantMs < LEAST_GRANT_MS ? 0 : grantMs
}

/** How long a process waits before it asks again, by how many live grants the key has. */
export function computePaceMs(grantMs: number, live: number): number {
  return Math.min(grantMs, Math.max(LEAST_GRANT_MS, (grantMs * live) / ASKS_A_LIFE))
}

/** How many units to ask for, by those that were asked for in the last `maxMs`. */
export function sizeGrant(
  need: number,
  recentUnits: number,
  paceMs: number,
  maxMs: number,
): Pick<GrantRequest, 'want' | 'soon'> {
  return {
    want: Math.max(need, Math.floor(1.25 * recentUnits)),
    soon: Math.max(need, Math.ceil((recentUnits * paceMs) / maxMs)),
  }
}

// What comes back continuously comes back meanwhile. What is taken from a log is out for the life of the grant and a whole window.
function weigh(rule: Rule): number {
  if (rule.replenishes === 'continuously') return 10
  return rule.replenishes === 'gradually' && rule.slots === undefined ? 0.5 : 1
}
