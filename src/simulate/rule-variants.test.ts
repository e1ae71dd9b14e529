import { expect, it } from 'vitest'
import { everyMode } from '../../test/rule-registry.ts'
import { listRuleVariants } from './rule-variants.ts'

it('has every rule in each of its modes, once, with the same limit and window', () => {
  const contestants = listRuleVariants(20, 5_000)
  expect(contestants.map(({ name }) => name)).toEqual(everyMode.map(({ contestant }) => contestant))
  expect(new Set(contestants.map(({ rule }) => rule.limit))).toEqual(new Set([20]))
  expect(new Set(contestants.map(({ rule }) => rule.windowMs ?? rule.parameters.leaseMs))).toEqual(new Set([5_000]))
})
