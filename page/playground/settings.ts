import type { RuleChoice } from './rule-choice.ts'
import type { TrafficChoice } from './traffic-choice.ts'

/** Everything that can be set in the playground, and so everything that a link carries. */
export interface Settings {
  readonly rules: readonly RuleChoice[]
  readonly traffic: TrafficChoice
}

/** How many rules fit side by side. */
export const MOST_RULES = 4

/** How many tiers one of them may have, itself included. */
export const MOST_TIERS = 3

/** Three rules of ten a second that look alike until bursts come. */
export const START: Settings = {
  rules: [
    { rule: 'token-bucket', values: { capacity: '50', refill: '10', period: '1s' } },
    { rule: 'sliding-window', values: { limit: '100', window: '10s' } },
    { rule: 'fixed-window', values: { limit: '100', window: '10s' } },
  ],
  traffic: { kind: 'bursts', values: {} },
}
