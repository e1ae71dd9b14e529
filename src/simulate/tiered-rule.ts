import type { AdjustResult, Rule, RuleState, StepResult } from '../core/rule.ts'

/** Several rules for one key, decided together as the tiers of a limiter are: a request takes from all of them or from none. */
export interface TieredRule extends Rule<TieredState> {
  readonly tiers: readonly Rule[]
}

/** What each of the rules remembers, in their order. */
export interface TieredState extends RuleState {
  readonly states: readonly (RuleState | undefined)[]
}

/** Makes one rule of several for a simulation. Its limit and its window are those of the rule with the smallest limit. */
export function tieredRule(tiers: readonly Rule[]): TieredRule {
  const strictest = tiers.reduce((least, tier) => (tier.limit < least.limit ? tier : least))
  const { limit, windowMs, replenishes, refunds } = strictest
  return {
    kind: 'tiers',
    stateName: 'tiers',
    limit,
    identity: JSON.stringify(tiers.map(({ kind, identity }) => [kind, identity])),
    parameters: {},
    refunds,
    windowMs,
    replenishes,
    tiers,
    step(state, nowMs, cost) {
      const tried = tiers.map((tier, index) => tier.step(state?.states[index], nowMs, cost))
      if (tried.every(({ retryAfterMs }) => retryAfterMs === 0)) return composeStep(tried, nowMs)
      // A rule that lets the cost pass takes nothing when another one refuses it.
      const looked = tried.map((result, index) => {
        return result.retryAfterMs > 0 ? result : (tiers[index] as Rule).step(state?.states[index], nowMs, 0)
      })
      return composeStep(looked, nowMs)
    },
    adjust(state, nowMs, amount, takenMs): AdjustResult<TieredState> {
      const adjusted = tiers.map((tier, index) => tier.adjust(state?.states[index], nowMs, amount, takenMs))
      const states = adjusted.map((one) => one.state)
      const isFresh = states.every((one) => one === undefined)
      return {
        state: isFresh ? undefined : { atMs: nowMs, states },
        returned: Math.min(...adjusted.map(({ returned }) => returned)),
      }
    },
  }
}

function composeStep(results: readonly StepResult[], nowMs: number): StepResult<TieredState> {
  const least = results.reduce((one, other) => (other.remaining < one.remaining ? other : one))
  const longest = (read: (result: StepResult) => number): number => Math.max(...results.map(read))
  return {
    retryAfterMs: longest(({ retryAfterMs }) => retryAfterMs),
    remaining: least.remaining,
    resetAfterMs: longest(({ resetAfterMs }) => resetAfterMs),
    nextAfterMs: least.nextAfterMs,
    delayMs: longest(({ delayMs }) => delayMs),
    state: { atMs: nowMs, states: results.map(({ state, resetAfterMs }) => (resetAfterMs === 0 ? undefined : state)) },
  }
}
