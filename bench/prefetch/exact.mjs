import * as rules from '../../dist/index.mjs'
import { manualClock } from '../../dist/testing.mjs'
import { HOT, ruleOf } from './limits.mjs'

/**
 * Puts requests to the rule itself, which decides each at its time and at once: `requests` has their number for each millisecond from the
 * date `startMs` on, and before the first of them all of the limit was charged at `chargedMs`, where that is given. Returns how many
 * the rule admits in each millisecond.
 */
export async function askRule(limit, { startMs, chargedMs }, requests) {
  const clock = manualClock(chargedMs ?? startMs)
  const limiter = rules.createLimiter({ name: 'exact', rule: ruleOf(rules, limit), clock })
  if (chargedMs !== undefined) {
    await limiter.charge(HOT, limit.limit)
    clock.advance(startMs - chargedMs)
  }
  const admitted = []
  for (const [sinceMs, cost] of requests.entries()) {
    if (sinceMs > 0) clock.advance(1)
    admitted[sinceMs] = cost > 0 ? await admit(limiter, cost) : 0
  }
  return admitted
}

/** As much of a cost as passes: requests of one unit that come at once. */
async function admit(limiter, cost) {
  const { allowed, remaining } = await limiter.consume(HOT, { cost })
  if (allowed) return cost
  if (remaining > 0) await limiter.consume(HOT, { cost: remaining })
  return remaining
}

/** What several processes counted in each millisecond, together. */
export function addUp(counts) {
  const length = Math.max(...counts.map((one) => one.length))
  return Array.from({ length }, (_, sinceMs) => counts.reduce((sum, one) => sum + (one[sinceMs] ?? 0), 0))
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0)
}
