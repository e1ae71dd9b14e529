import { describe, expect, it } from 'vitest'
import { everyMode, ruleOf } from '../../test/rule-registry.ts'
import type { Rule } from '../core/rule.ts'
import { fixedWindow, gcra, leakyBucket, slidingLog, slidingWindow, tokenBucket } from './index.ts'

// Every rule for several, and what is particular: a debt of its own, another name, a wait that is bounded.
const rules: readonly (readonly [title: string, instances: number, create: () => Rule])[] = [
  ...everyMode.flatMap((mode) =>
    [3, 4, 10].map((instances) => {
      return [mode.title, instances, () => ruleOf(mode, { limit: 10, timeMs: 1_000, rate: 3, parts: 5 })] as const
    }),
  ),
  ['debt', 4, () => fixedWindow({ limit: 10, window: 1_000, anchor: 'first-hit', maxDebt: 7 })],
  ['no debt', 4, () => slidingLog({ limit: 10, window: 1_000, maxDebt: 0 })],
  ['gcra', 4, () => gcra({ limit: 3, period: 1_000, burst: 10 })],
  ['wait', 4, () => leakyBucket({ capacity: 10, leak: 3, period: 1_000, mode: 'shape', maxWait: 500 })],
]

/** How many of cost 1 a rule lets pass when one comes each millisecond for that time. */
function admitted(rule: Rule, forMs: number): number {
  let state: ReturnType<Rule['step']>['state'] | undefined
  let count = 0
  for (let nowMs = 0; nowMs < forMs; nowMs++) {
    const outcome = rule.step(state, nowMs, 1)
    if (outcome.retryAfterMs > 0) continue
    state = outcome.state
    count++
  }
  return count
}

describe.each(rules)('a share of %s for one of %i', (_, instances, create) => {
  const createShare = (): [rule: Rule, share: Rule] => {
    const rule = create()
    return [rule, rule.share?.(instances) as Rule]
  }

  it('is the same kind of rule, with a part of the limit', () => {
    const [rule, share] = createShare()
    expect(share.kind).toBe(rule.kind)
    expect(share.stateName).toBe(rule.stateName)
    expect(share.limit).toBe(Math.floor(10 / instances))
    expect(share.parameters.mode).toBe(rule.parameters.mode)
    expect(share.parameters.anchor).toBe(rule.parameters.anchor)
    expect(share.parameters.maxWaitMs === 500).toBe(rule.parameters.maxWaitMs === 500)
    const most = Number(rule.parameters.maxDebt) + rule.limit
    const together = (Number(share.parameters.maxDebt) + share.limit) * instances
    expect(together).toBeLessThanOrEqual(most)
    expect(together).toBeGreaterThan(most - instances)
  })

  it('lets no more pass, together with the others, than the whole', () => {
    const [rule, share] = createShare()
    const whole = admitted(rule, 20_000)
    const together = instances * admitted(share, 20_000)
    // The first in an empty queue never waits, so each of them has one that the whole has not.
    expect(together).toBeLessThanOrEqual(rule.parameters.mode === 'shape' ? whole + instances : whole)
    expect(together).toBeGreaterThanOrEqual(whole * 0.6)
  })

  it('is one when there are more than the limit', () => {
    const rule = create()
    expect(rule.share?.(1_000_000).limit).toBe(1)
    expect(rule.share?.(1_000_000).parameters.maxDebt).toBe(0)
  })
})

describe('a share of the largest rules', () => {
  it.each([
    tokenBucket({ capacity: 1, refill: 1, period: 3_653 * 86_400_000 }),
    tokenBucket({ capacity: 9_007_199_254_740, refill: 1, period: 1_000 }),
    leakyBucket({ capacity: 3, leak: 1, period: 3_653 * 86_400_000, mode: 'shape' }),
    fixedWindow({ limit: Number.MAX_SAFE_INTEGER, window: 1_000 }),
    slidingWindow({ limit: 1, window: 3_653 * 86_400_000 }),
  ])('is still exact: %o', (rule) => {
    for (const instances of [1, 2, 3, 7, 999, 1_000_000])
      expect(rule.share?.(instances).limit).toBeGreaterThanOrEqual(1)
  })
})
