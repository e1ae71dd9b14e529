import { describe, expect, it } from 'vitest'
import { everyMode, GOOD, ruleOf } from '../../test/rule-registry.ts'
import type { RuleState } from '../core/rule.ts'

const modes = everyMode.map((mode) => [mode.title, mode] as const)

describe.each(modes.filter(([, { givesBack }]) => givesBack.length > 0))('%s refunds', (_, mode) => {
  it.each(mode.givesBack)('%s', (_, takes, [nowMs, amount, takenMs], [returned, remaining, resetAfterMs]) => {
    const rule = ruleOf(mode, GOOD)
    let state: RuleState | undefined
    for (const [atMs, cost] of Object.entries(takes)) state = rule.adjust(state, Number(atMs), cost).state
    const adjusted = rule.adjust(state, nowMs, -amount, takenMs)
    expect(adjusted.returned).toBe(returned)
    expect(rule.step(adjusted.state, nowMs, 0)).toMatchObject({ remaining, resetAfterMs })
  })
})

describe.each(modes)('%s', (_, mode) => {
  it('refunds nothing when it adds, at any time, and keeps nothing of nothing', () => {
    const rule = ruleOf(mode, GOOD)
    const { state } = rule.step(undefined, 10_500, 4)
    const added = rule.adjust(state, 10_500, 3)
    expect(added.returned).toBe(0)
    expect(rule.adjust(state, 10_500, 3, 9_000)).toEqual(added)
    expect(rule.adjust(undefined, 10_500, 0)).toEqual({ state: undefined, returned: 0 })
  })
})
