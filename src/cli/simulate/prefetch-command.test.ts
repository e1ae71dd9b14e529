import { describe, expect, it } from 'vitest'
import { writePolicies } from '../../../test/cli/policy-file.ts'
import { recordingTerminal } from '../../../test/recording-terminal.ts'
import { simulated, simulatedJson, simulateMistake } from '../../../test/simulate-stage.ts'
import { slidingWindow } from '../../rules/index.ts'
import { splitTrace } from '../../simulate/simulate.ts'
import { createPrefetchSimulation } from '../../simulate/simulate-prefetch.ts'
import { poisson } from '../../simulate/traffic.ts'
import { run } from '../program.ts'

const RULE = 'sliding-window limit=10000 window=10s'
const HOT = ['--prefetch', '--rule', RULE, '--rate', '800/s', '--duration', '3s']

/** What the processes of a simulation make of the traffic of `HOT`. */
function expected(processes: number, prefetch = { maxMs: 100, maxShare: 0.01 }, name = RULE) {
  const rule = slidingWindow({ limit: 10_000, window: 10_000 })
  const simulation = createPrefetchSimulation([{ name, rule, prefetch }], processes)
  for (const part of splitTrace(poisson({ perSecond: 800, durationMs: 3_000 }))) simulation.offer(part)
  simulation.passTime(3_000)
  return simulation.results()
}

describe('sluice simulate --prefetch', () => {
  it('plays processes that prefetch beside others that do not', async () => {
    const { traffic, ...others } = await simulatedJson(HOT)
    expect(traffic).toBe('4 processes, 800 requests a second at random, for 3s, one key, seed 1')
    expect(others).toEqual({ processes: 4, results: expected(4) })
    expect((await simulatedJson([...HOT, '--processes', '1'])).traffic).toMatch(/^one process, /)
  })

  it('prints a table, and what its columns mean', async () => {
    const [, terminal] = await simulated([...HOT, '--processes', '2'])
    const text = terminal.text()
    const [one] = expected(2)
    const row = text.split('\n').find((line) => line.startsWith(RULE)) as string
    const { calls = 0, callsWithout = 0, saved = 0, admitted = 0, granted = 0, returned = 0 } = one ?? {}
    const count = (value: number) => value.toLocaleString('en-US')
    const share = `${((100 * saved) / callsWithout).toFixed(1)} %`
    expect(row.slice(RULE.length).trim().split(/ {2,}/)).toEqual([
      ...[count(calls), count(callsWithout), share, count(admitted), count(admitted), '0 (0.0 %)'],
      ...[count(granted), count(returned), '0'],
    ])
    expect(text).toContain('calls     requests to Redis, before they are batched')
  })

  it('goes by the file of policies, and says what cannot prefetch', async () => {
    const file = await writePolicies(
      `policies:
  api: { rule: sliding-window, limit: 10000, window: 10s, prefetch: { maxTime: 50ms } }
  plain: { rule: sliding-window, limit: 10000, window: 10s, prefetch: false }
  all: { tiers: { a: { rule: sliding-window, limit: 10000, window: 10s }, b: { rule: concurrency, limit: 5, lease: 1m } }, prefetch: { maxTime: 20ms } }
`,
    )
    const terminal = recordingTerminal()
    const traffic = ['--rate', '800/s', '--duration', '3s', '--json']
    expect(await run(['simulate', '--prefetch', '--policies', file, ...traffic], terminal)).toBe(0)
    expect(JSON.parse(terminal.text()).results).toEqual([
      ...expected(4, { maxMs: 50, maxShare: 0.01 }, 'api'),
      ...expected(4, { maxMs: 100, maxShare: 0.01 }, 'plain'),
      ...expected(4, { maxMs: 20, maxShare: 0.01 }, 'all.a'),
    ])
    expect(terminal.errors()).toBe('all.b: concurrency cannot prefetch, and is not played\n')
  })

  it('plays ten seconds where no duration is given', async () => {
    const { traffic } = await simulatedJson(['--prefetch', '--rule', RULE])
    expect(traffic).toBe('4 processes, 1,200 requests a second at random, for 10s, one key, seed 1')
  })

  const without = HOT.filter((word) => word !== '--prefetch')
  it.each([
    [[...HOT, '--processes', '0'], '--processes must be a whole number from 1 to 1000, got "0"'],
    [[...HOT, '--processes', '1001'], '--processes must be a whole number from 1 to 1000, got "1001"'],
    [[...HOT, '--processes', 'all'], '--processes must be a whole number from 1 to 1000, got "all"'],
    [[...without, '--processes', '2'], '--processes needs --prefetch'],
    [[...HOT, '--svg', 'a.svg'], '--prefetch does not go with --svg. Remove one'],
    [[...HOT, '--summary'], '--prefetch does not go with --summary. Remove one'],
    [[...HOT, '--format', 'chart'], '--prefetch has no chart: use --format table or json'],
    [['--prefetch'], "--prefetch needs a rule, such as --rule 'sliding-window limit=1000000 window=1m', or --policies"],
    [
      ['--prefetch', '--rule', 'concurrency limit=5 lease=1m'],
      'prefetch does not work with this rule, concurrency: its requests depend on each other. Remove prefetch',
    ],
  ])('refuses %j', async (args, message) => {
    expect(await simulateMistake(...args)).toContain(message)
  })

  it('refuses a file without a limit that can prefetch', async () => {
    const file = await writePolicies('policies:\n  jobs: { rule: concurrency, limit: 5, lease: 1m }\n')
    const terminal = recordingTerminal()
    expect(await run(['simulate', '--prefetch', '--policies', file], terminal)).toBe(2)
    expect(terminal.errors()).toContain(`no limit of ${file} can prefetch`)
  })
})
