import fc from 'fast-check'
import type { Rule } from '../src/core/rule.ts'
import { everyMode, randomRules } from './rule-registry.ts'
import type { RuleMode } from './rule-samples.ts'

const small = fc.integer({ min: 1, max: 40 })
const numbers = {
  limit: small,
  timeMs: fc.constantFrom(1, 7, 250, 999, 1_000, 61_000),
  rate: small,
  parts: fc.constantFrom(1, 2, 3, 10),
}

/** Rules of every kind, each with any numbers and with any debt: two of a kind share their keys. */
export const outlivingKinds: readonly (readonly [title: string, kind: fc.Arbitrary<Rule>, mode: RuleMode])[] =
  everyMode.map((mode) => [
    mode.title,
    fc.oneof(randomRules(mode, numbers), randomRules(mode, { ...numbers, maxDebt: fc.nat(9) })),
    mode,
  ])
