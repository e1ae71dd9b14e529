import fc from 'fast-check'
import type { Rule } from '../../src/core/rule.ts'
import { everyMode, isSteady, randomRules } from '../rule-registry.ts'

/** Random configurations of one rule that are fresh again within a second or so, whatever was done. */
export interface ShortRule {
  readonly title: string
  readonly rules: fc.Arbitrary<Rule>
}

const limit = fc.integer({ min: 1, max: 12 })
const rate = fc.integer({ min: 1, max: 3 })
const parts = fc.integer({ min: 1, max: 10 })
const maxDebt = fc.nat(6)

/** Every rule, and every mode of it that decides differently. */
export const shortRules: readonly ShortRule[] = everyMode.map((mode) => {
  // A bucket needs a period for every few requests.
  const timeMs = fc.integer({ min: 20, max: isSteady(mode) ? 60 : 300 })
  return { title: mode.title, rules: randomRules(mode, { limit, timeMs, rate, parts, maxDebt }) }
})
