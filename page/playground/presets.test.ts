import { expect, it } from 'vitest'
import { PRESETS } from './presets.ts'
import { makeRule } from './rule-choice.ts'
import { startRun } from './run.ts'
import { readSettings, writeSettings } from './share.ts'
import { makeTrace } from './traffic-choice.ts'

it.each(PRESETS)('$name can be played, refuses some and admits some, and survives its own link', (preset) => {
  const { rules, traffic } = preset
  const made = rules.map(makeRule).map((one) => ('rule' in one ? one.rule : expect.fail(one.problem)))
  const trace = makeTrace(traffic, made[0])
  if ('problem' in trace) expect.fail(trace.problem)
  const contestants = made.map((rule, index) => ({ name: `${index}`, rule }))
  const run = startRun(contestants, trace.trace)
  expect(run.playOn(() => false)).toBe(true)
  const { results, cutAtMs } = run.outcome()
  expect(cutAtMs).toBeUndefined()
  for (const { admitted, refused } of results) expect(Math.min(admitted, refused)).toBeGreaterThan(0)
  expect(readSettings(writeSettings(preset))).toEqual({ settings: { rules, traffic }, problems: [] })
})

it('keeps the contract with the first rule, and shows that a fixed window breaks it', () => {
  const { rules, traffic } = PRESETS.at(-1) as (typeof PRESETS)[number]
  const contestants = rules.map((choice, index) => {
    const one = makeRule(choice)
    return { name: `${index}`, rule: 'rule' in one ? one.rule : expect.fail(one.problem) }
  })
  const trace = makeTrace(traffic, contestants[0]?.rule)
  const run = startRun(contestants, 'trace' in trace ? trace.trace : expect.fail(trace.problem))
  run.playOn(() => false)
  const worst = run.outcome().results.map(({ worstOverLimit }) => worstOverLimit)
  expect(worst[0]).toBeLessThanOrEqual(1)
  expect(worst[3]).toBe(2)
})
