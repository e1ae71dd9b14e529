import { describe, expect, it } from 'vitest'
import type { RuleForm } from '../../src/rules/rule-form.ts'
import {
  changeRule,
  composeOptions,
  findForm,
  makeRule,
  nameLanes,
  parseNumber,
  RULE_FORMS,
  suggestChoice,
} from './rule-choice.ts'

const form = (name: string): RuleForm => findForm(name) as RuleForm

it.each(RULE_FORMS.map(({ name }) => name))('%s can be made from what its form suggests', (name) => {
  expect(makeRule(suggestChoice(form(name)))).toHaveProperty('rule')
})

it('makes the rule that was asked for, in words and numbers', () => {
  const made = makeRule({ rule: 'token-bucket', values: { capacity: ' 20', refill: '7', period: '1s', maxDebt: '' } })
  expect('rule' in made && made.rule.parameters).toEqual({ capacity: 20, refill: 7, periodMs: 1_000, maxDebt: 20 })
})

it.each([
  [{ limit: '0', window: '1m' }, 'limit must be a whole number of at least 1, got 0'],
  [{ limit: 'many', window: '1m' }, 'limit must be a whole number of at least 1, got NaN'],
  [
    { limit: '5', window: 'soon' },
    `window must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got "soon"`,
  ],
  [
    { limit: '5' },
    "window must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got undefined",
  ],
])('says what is wrong with %j', (values, problem) => {
  expect(makeRule({ rule: 'sliding-window', values })).toEqual({ problem })
})

it('knows no rule of an unknown name', () => {
  expect(makeRule({ rule: 'magic', values: {} })).toEqual({ problem: 'unknown rule "magic"' })
})

it('leaves out what is not filled in', () => {
  const choice = { rule: 'fixed-window', values: { limit: '5', window: '1m', anchor: 'first-hit', maxDebt: ' ' } }
  expect(composeOptions(form('fixed-window'), choice)).toEqual({ limit: 5, window: '1m', anchor: 'first-hit' })
})

it('keeps the values that another rule has too', () => {
  const choice = { rule: 'sliding-window', values: { limit: '7', window: '2s', maxDebt: '3' } }
  expect(changeRule(form('fixed-window'), choice)).toEqual({
    rule: 'fixed-window',
    values: { limit: '7', window: '2s' },
  })
  expect(changeRule(form('token-bucket'), choice)).toEqual(suggestChoice(form('token-bucket')))
})

describe('the number in a field', () => {
  it.each([
    ['count', '12', 12],
    ['count', '', undefined],
    ['count', 'x', undefined],
    ['duration', ' 1m ', 60_000],
    ['duration', 'x', undefined],
  ] as const)('of kind %s with %j is %s', (kind, text, value) => {
    expect(parseNumber(kind, text)).toBe(value)
  })
})

it('numbers rules of the same kind', () => {
  const choices = ['gcra', 'fixed-window', 'gcra', 'gcra'].map((rule) => ({ rule, values: {} }))
  expect(nameLanes(choices)).toEqual(['gcra', 'fixed-window', 'gcra-2', 'gcra-3'])
})

describe('tiers', () => {
  const perMinute = { rule: 'fixed-window', values: { limit: '100', window: '1m' } }
  const perSecond = { rule: 'token-bucket', values: { capacity: '20', refill: '5', period: '1s' } }

  it('make one rule, with the limit of the smallest', () => {
    expect(makeRule({ ...perMinute, tiers: [perSecond] })).toMatchObject({ rule: { kind: 'tiers', limit: 20 } })
  })

  it('say what is wrong with any of them', () => {
    const wrong = { ...perSecond, values: { ...perSecond.values, refill: '0' } }
    expect(makeRule({ ...perMinute, tiers: [wrong] })).toEqual({
      problem: 'refill must be a whole number of at least 1, got 0',
    })
    expect(makeRule({ ...perMinute, tiers: [suggestChoice(form('concurrency'))] })).toEqual({
      problem: 'concurrency cannot be one of several tiers here',
    })
  })

  it('stay when the rule changes, unless the new one cannot have any', () => {
    const choice = { ...perMinute, tiers: [perSecond] }
    expect(changeRule(form('sliding-log'), choice).tiers).toEqual([perSecond])
    expect(changeRule(form('concurrency'), choice)).not.toHaveProperty('tiers')
  })
})
