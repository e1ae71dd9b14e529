import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RULE_FORMS, type RuleChoice } from './rule-choice.ts'
import { type Settings, START } from './settings.ts'
import { readSettings, writeSettings } from './share.ts'
import { listFields, TRAFFIC_KINDS, type TrafficKind } from './traffic-choice.ts'

it('writes a short link that people can read', () => {
  expect(writeSettings(START)).toBe(
    'v=1&r=token-bucket~capacity-50~refill-10~period-1s&r=sliding-window~limit-100~window-10s&r=fixed-window~limit-100~window-10s&t=bursts',
  )
})

it('reads back all that can be set', () => {
  const text = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }).filter((value) => !value.includes('~'))
  const rule: fc.Arbitrary<RuleChoice> = fc.constantFrom(...RULE_FORMS).chain((form) => {
    const fields = form.fields.map((field) => [field.name, field.choices ? fc.constantFrom(...field.choices) : text])
    return fc.record(Object.fromEntries(fields), { requiredKeys: [] }).map((values) => ({ rule: form.name, values }))
  })
  const lane = fc.oneof(
    rule,
    fc.tuple(rule, fc.array(rule, { minLength: 1, maxLength: 2 })).map(([first, tiers]) => ({ ...first, tiers })),
  )
  const traffic = fc.constantFrom(...(Object.keys(TRAFFIC_KINDS) as TrafficKind[])).chain((kind) => {
    // What traffic starts with is left out, which is the same.
    const fields = listFields(kind).map(({ word, start }) => [word, text.filter((value) => value !== start)])
    return fc.record(Object.fromEntries(fields), { requiredKeys: [] }).map((values) => ({ kind, values }))
  })
  const settings: fc.Arbitrary<Settings> = fc.record({ rules: fc.array(lane, { minLength: 1, maxLength: 4 }), traffic })
  fc.assert(
    fc.property(settings, (given) => {
      expect(readSettings(writeSettings(given))).toEqual({ settings: given, problems: [] })
    }),
  )
})

it('starts without a note when there is nothing to read', () => {
  expect(readSettings('')).toEqual({ settings: START, problems: [] })
})

it.each([
  ['rubbish', ['it is of version none, and this page reads version 1']],
  ['v=2&r=gcra&t=steady', ['it is of version 2, and this page reads version 1']],
  ['v=1', ['it names no rule', 'there is no traffic ""']],
  ['v=1&r=magic~limit-5&t=bursts', ['unknown rule "magic"']],
  ['v=1&t=rain', ['it names no rule', 'there is no traffic "rain"']],
  ['v=1&t=toString', ['it names no rule', 'there is no traffic "toString"']],
])('falls back on the start for %j, and says why', (query, problems) => {
  expect(readSettings(query)).toEqual({ settings: START, problems })
})

it('keeps what it can read of a link that is partly wrong', () => {
  const { settings, problems } = readSettings(
    'v=1&r=fixed-window~limit-5~window-1s~anchor-moon~colour&r=magic&r=gcra&r=gcra&r=gcra&t=steady~rate-5~burst-3',
  )
  expect(settings).toEqual({
    rules: [
      { rule: 'fixed-window', values: { limit: '5', window: '1s' } },
      { rule: 'gcra', values: {} },
      { rule: 'gcra', values: {} },
    ],
    traffic: { kind: 'steady', values: { rate: '5' } },
  })
  expect(problems).toEqual([
    'it has 5 rules, and only 4 fit',
    'fixed-window has no "anchor" of "moon"',
    'fixed-window has no "colour" of ""',
    'unknown rule "magic"',
    'traffic has no "burst"',
  ])
})
