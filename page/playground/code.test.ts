import { expect, it } from 'vitest'
import { readPolicies } from '../../src/policies/read-policies.ts'
import { composeTypescript, composeYaml } from './code.ts'
import { makeRule, RULE_FORMS, type RuleChoice, suggestChoice } from './rule-choice.ts'

const CHOICES: readonly RuleChoice[] = [
  { rule: 'token-bucket', values: { capacity: '1500', refill: '7', period: '1m30s', maxDebt: '' } },
  { rule: 'fixed-window', values: { limit: '100', window: '1m', anchor: 'first-hit' } },
  { rule: 'fixed-window', values: { limit: '5', window: '250ms' } },
]

it('writes a program as people would', () => {
  expect(composeTypescript(CHOICES)).toBe(`import { createLimiter, fixedWindow, tokenBucket } from 'sluice'

export const tokenBucketLimiter = createLimiter({
  name: 'token-bucket',
  rule: tokenBucket({ capacity: 1_500, refill: 7, period: '1m30s' }),
})

export const fixedWindowLimiter = createLimiter({
  name: 'fixed-window',
  rule: fixedWindow({ limit: 100, window: '1m', anchor: 'first-hit' }),
})

export const fixedWindow2Limiter = createLimiter({
  name: 'fixed-window-2',
  rule: fixedWindow({ limit: 5, window: '250ms' }),
})
`)
})

it('writes a file of policies as people would', () => {
  expect(composeYaml(CHOICES)).toBe(`policies:
  token-bucket:
    rule: token-bucket
    capacity: 1500
    refill: 7
    period: 1m30s
  fixed-window:
    rule: fixed-window
    limit: 100
    window: 1m
    anchor: first-hit
  fixed-window-2:
    rule: fixed-window
    limit: 5
    window: 250ms
`)
})

const TIERED: RuleChoice = {
  rule: 'token-bucket',
  values: { capacity: '20', refill: '5', period: '1s' },
  tiers: [
    { rule: 'fixed-window', values: { limit: '100', window: '1m' } },
    { rule: 'fixed-window', values: { limit: '1000', window: '1h' } },
  ],
}

it('writes tiers as tiers', () => {
  expect(composeTypescript([TIERED])).toBe(`import { createLimiter, fixedWindow, tokenBucket } from 'sluice'

export const tokenBucketLimiter = createLimiter({
  name: 'token-bucket',
  tiers: {
    'token-bucket': tokenBucket({ capacity: 20, refill: 5, period: '1s' }),
    'fixed-window': fixedWindow({ limit: 100, window: '1m' }),
    'fixed-window-2': fixedWindow({ limit: 1_000, window: '1h' }),
  },
})
`)
  expect(composeYaml([TIERED])).toBe(`policies:
  token-bucket:
    tiers:
      token-bucket: { rule: token-bucket, capacity: 20, refill: 5, period: 1s }
      fixed-window: { rule: fixed-window, limit: 100, window: 1m }
      fixed-window-2: { rule: fixed-window, limit: 1000, window: 1h }
`)
  const [policy] = readPolicies(composeYaml([TIERED]), 'limits.yaml')
  expect(policy?.options).toHaveProperty('tiers.fixed-window-2.rule.limit', 1_000)
})

it('writes a file of policies that gives the same rules', () => {
  const choices = [...CHOICES, ...RULE_FORMS.map(suggestChoice)]
  const policies = readPolicies(composeYaml(choices), 'limits.yaml')
  const read = policies.map(({ options }) => options.rule?.parameters)
  const made = choices.map((choice) => {
    const one = makeRule(choice)
    return 'rule' in one && one.rule.parameters
  })
  expect(read).toEqual(made)
})
