import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { everyMode, formNames, GOOD, ruleOf } from '../../../test/rule-registry.ts'
import { simulatedJson, simulateMistake } from '../../../test/simulate-stage.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-contestants-'))
afterAll(() => rmSync(folder, { recursive: true }))

const RULE = 'fixed-window limit=10 window=1s'

function writePolicies(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('the rules of a simulation', () => {
  it('are every rule that has a window when none is named', async () => {
    const { results } = await simulatedJson(['--duration', '2m'])
    const windowed = everyMode.filter((mode) => ruleOf(mode, GOOD).windowMs !== undefined)
    expect(results.map(({ name }) => name)).toEqual(windowed.map(({ contestant }) => contestant))
  })

  it('are named with their options, as on a command line', async () => {
    const { results } = await simulatedJson([
      '-r',
      RULE,
      '--rule',
      ' leaky-bucket  capacity=5 leak=1_0 period=1s mode=shape ',
    ])
    expect(results.map(({ name, limit }) => [name, limit])).toEqual([
      [RULE, 10],
      ['leaky-bucket capacity=5 leak=1_0 period=1s mode=shape', 5],
    ])
  })

  it('are those of a file of policies, each tier for itself, with its block', async () => {
    const policies = writePolicies(
      'limits.yaml',
      `policies:
  api: { rule: sliding-window, limit: 7, window: 1s, blockFor: 10m }
  messages:
    tiers:
      user: { rule: fixed-window, limit: 3, window: 1s }
      ip: { rule: token-bucket, capacity: 5, refill: 5, period: 1s }
`,
    )
    const { results } = await simulatedJson(['--policies', policies, '--rate', '20', '--duration', '10s'])
    expect(results.map(({ name, limit }) => [name, limit])).toEqual([
      ['api', 7],
      ['messages.user', 3],
      ['messages.ip', 5],
    ])
    // After its first refusal it is blocked for longer than the traffic lasts.
    expect(results[0]?.admitted).toBe(7)
  })

  it.each([
    ['slide limit=1', `unknown rule "slide": there are ${formNames.join(', ')}`],
    ['sliding-windw limit=1', 'unknown rule "sliding-windw", did you mean "sliding-window"?'],
    ['  ', 'a rule starts with its name, such as sliding-window'],
    ['fixed-window limit', '"limit" must be an option and its value, such as limit=100 window=1m'],
    ['fixed-window limit=1 limit=2', 'limit comes twice. Remove one'],
    ['fixed-window limit=0 window=1m', 'limit must be a whole number of at least 1, got 0'],
    ['fixed-window limit=ten window=1m', 'limit must be a whole number of at least 1, got "ten"'],
    [
      'fixed-window limit=1 window=60',
      `window must be a duration such as '250ms', '1m' or '1h30m' (units ms, s, m, h, d, w) or whole milliseconds, got "60"`,
    ],
    ['fixed-window limit=1 widnow=1m', 'fixedWindow() has no option "widnow", did you mean "window"?'],
    ['fixed-window limit=1 window=1m anchor=noon', `anchor must be 'clock' or 'first-hit', got "noon"`],
  ])('are refused when they are wrong: %s', async (text, reason) => {
    expect(await simulateMistake('--rule', text)).toBe(`sluice: the rule ${JSON.stringify(text)} is wrong: ${reason}\n`)
  })

  it('are refused when one is there twice', async () => {
    expect(await simulateMistake('--rule', RULE, '--rule', ` ${RULE}`)).toBe(
      `sluice: the rule "${RULE}" is given twice. Remove one\n`,
    )
  })

  it('are refused with every mistake of a file of policies', async () => {
    const policies = writePolicies('wrong.yaml', 'policies:\n  api: { rule: fixed-window, limit: 0, window: 1s }\n')
    expect(await simulateMistake('--policies', policies)).toBe(
      `sluice: ${policies}:2:37: limit must be a whole number of at least 1, got 0\n`,
    )
  })
})
