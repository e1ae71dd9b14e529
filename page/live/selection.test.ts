import { describe, expect, it } from 'vitest'
import type { LivePolicy, LiveTier } from '../../src/observe/live-report.ts'
import { exampleSecond } from './report.examples.ts'
import { countSecond, listChoices, resolveChoice } from './selection.ts'

const tier = (name: string): LiveTier => ({
  name,
  kind: 'token-bucket',
  limit: 10,
  parameters: {},
  isShadow: false,
  isPrefetched: false,
  refused: 0,
  near: 0,
})
const policy = (name: string, ...tiers: string[]): LivePolicy => ({
  name,
  tiers: tiers.map(tier),
  allowed: 0,
  refused: 0,
})
const POLICIES = [policy('api', 'api'), policy('messages', 'user', 'ip')]

describe('the menu', () => {
  it('offers everything, each policy, and each tier where there are several', () => {
    const choices = listChoices(POLICIES)
    expect(choices.map(({ label }) => label)).toEqual([
      'All policies',
      'api',
      'messages',
      'messages › user',
      'messages › ip',
    ])
    expect(new Set(choices.map(({ value }) => value)).size).toBe(5)
  })

  it('finds a choice again, and falls back on everything when it is gone', () => {
    const choices = listChoices(POLICIES)
    const ip = choices[4]
    expect(ip?.selection).toEqual({ policy: 'messages', tier: 'ip' })
    expect(resolveChoice(choices, ip?.value as string)).toBe(ip)
    expect(resolveChoice(listChoices([]), ip?.value as string).selection).toEqual({})
  })
})

describe('the counts of a second', () => {
  const second = exampleSecond({
    allowed: 30,
    refused: 7,
    byPolicy: {
      api: { allowed: 20, refused: 2, byTier: { api: 2 } },
      messages: { allowed: 10, refused: 5, byTier: { ip: 4, user: 1 } },
    },
  })

  it.each([
    [{}, 30, 7],
    [{ policy: 'api' }, 20, 2],
    [{ policy: 'messages', tier: 'ip' }, 10, 4],
    [{ policy: 'messages', tier: 'device' }, 10, 0],
    [{ policy: 'quiet' }, 0, 0],
    [{ policy: 'toString' }, 0, 0],
    [{ policy: 'messages', tier: 'constructor' }, 10, 0],
  ])('of %j are its own', (selection, allowed, refused) => {
    expect(countSecond(second, selection)).toEqual({ allowed, refused })
  })
})
