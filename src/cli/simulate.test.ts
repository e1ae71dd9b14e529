import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { simulated, simulatedJson, simulateMistake } from '../../test/simulate-stage.ts'
import { fixedWindow } from '../rules/index.ts'
import { simulate } from '../simulate/simulate.ts'
import { adversary, bursts, poisson, steady } from '../simulate/traffic.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-simulate-'))
afterAll(() => rmSync(folder, { recursive: true }))

const RULE = 'fixed-window limit=10 window=1s'
const WINDOW = { limit: 10, window: 1_000 }

function writeTrace(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('the traffic', () => {
  const durationMs = 30_000

  it.each([
    [['--traffic', 'poisson'], poisson({ perSecond: 12, durationMs })],
    [['--traffic', 'steady', '--rate', '5/s'], steady({ perSecond: 5, durationMs })],
    [['--traffic', 'steady', '--rate', '90/m'], steady({ perSecond: 1.5, durationMs })],
    [['--rate', '5/10s', '--seed', '9'], poisson({ perSecond: 0.5, durationMs, seed: 9 })],
    [['--keys', '4', '--cost', '1-3'], poisson({ perSecond: 48, durationMs, keys: 4, cost: { least: 1, most: 3 } })],
    [['--rate', '400', '--duration', '30s'], poisson({ perSecond: 400, durationMs })],
    [['--cost', '2', '--work', '10ms'], poisson({ perSecond: 12, durationMs, cost: 2, workMs: 10 })],
    [['--traffic', 'bursts'], bursts({ burst: 8, burstMs: 40, pauseMs: 500, durationMs })],
    [
      ['--traffic', 'bursts', '--burst', '3', '--burst-length', '5ms', '--pause', '1s', '--duration', '1m30s'],
      bursts({ burst: 3, burstMs: 5, pauseMs: 1_000, durationMs: 90_000 }),
    ],
    [['--traffic', 'adversary'], adversary({ limit: 10, windowMs: 1_000, durationMs })],
  ])('is made as it is asked for: %j', async (args, trace) => {
    const { results } = await simulatedJson(['--rule', RULE, ...args])
    const [expected] = simulate([{ name: RULE, rule: fixedWindow(WINDOW) }], trace)
    expect({ ...results[0], nanosecondsPerDecision: undefined, mostRefused: undefined }).toEqual(expected)
  })

  it('says what it was', async () => {
    expect((await simulatedJson(['-r', RULE])).traffic).toBe('12 requests a second at random, for 30s, one key, seed 1')
    expect((await simulatedJson(['-r', RULE, '-t', 'bursts', '--keys', '3'])).traffic).toBe(
      '8 requests within 40ms, then a pause of 500ms on average, for 30s, 3 keys, seed 1',
    )
    expect(
      (await simulatedJson(['-r', 'concurrency limit=2 lease=1s', '-t', 'adversary', '--seed', '4'])).traffic,
    ).toBe('an adversary who aims at 2 in 1s, for 30s, one key, seed 4')
  })

  it.each([
    [['--rate', 'fast'], '--rate must be a number of requests, such as 120/s, 100/m or 5/10s, got "fast"'],
    [['--rate', '5/x'], '--rate must be a duration, such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got "1x"'],
    [
      ['--duration', '90'],
      '--duration must be a duration, such as 250ms, 1m or 1h30m (units ms, s, m, h, d, w), got "90"',
    ],
    [['--cost', '-1'], '--cost must be a whole number, or two such as 1-5, got "-1"'],
    [['--keys', 'many'], '--keys must be a whole number of at least 1, got "many"'],
    [['--keys', '0'], '--keys must be a whole number of at least 1, got "0"'],
    [
      ['--seed', '4294967296'],
      'seed must be a whole number from 0 to 4294967295, got 4294967296 (npx sluice explain INVALID_OPTION)',
    ],
    [['--slots', '1'], '--slots must be a whole number from 2 to 99999, got "1"'],
  ])('is refused when it is wrong: %j', async (args, message) => {
    expect(await simulateMistake('--rule', RULE, ...args)).toBe(`sluice: ${message}\n`)
  })

  it('can be stopped', async () => {
    const [code, terminal] = await simulated(['--rule', RULE], { signal: AbortSignal.abort() })
    expect(code).toBe(1)
    expect(terminal.errors()).toMatch(/^sluice: stopped after \d+ requests\n$/)
  })
})

describe('what it prints', () => {
  it('is a table, and what its columns mean', async () => {
    const [code, terminal] = await simulated([
      '--rule',
      RULE,
      '-r',
      'leaky-bucket capacity=10 leak=10 period=1s mode=shape',
    ])
    expect(code).toBe(0)
    expect(terminal.text().split('\n')).toEqual([
      '12 requests a second at random, for 30s, one key, seed 1',
      '',
      expect.stringMatching(/^rule +admitted +refused +of all +worst +÷ limit +over +early +keys +bytes +wait +ns$/),
      expect.stringMatching(
        /^fixed-window limit=10 window=1s +282 +55 +16\.3 % +16 +1\.60× +\d+\.\d % +0\.0 % +1 +24 +[\d,]+$/,
      ),
      expect.stringMatching(/^leaky-bucket .* 1\.00× .* 626, 897 +[\d,]+$/),
      '',
      expect.stringMatching(/^ {2}worst {2}the most that passed/),
      ...Array.from({ length: 6 }, () => expect.stringMatching(/^ {2}\w+ +\w/)),
      '',
      expect.stringMatching(/^rule +refused most, of their requests$/),
      expect.stringMatching(/^fixed-window limit=10 window=1s +user:1 55 of 337 \(16\.3 %\)$/),
      expect.stringMatching(/^leaky-bucket .* user:1 \d+ of 337 \(\d+\.\d %\)$/),
      '',
    ])
    expect(terminal.errors()).toBe('')
  })

  it('is a chart of blocks as wide as the terminal', async () => {
    const [, terminal] = await simulated(
      ['-r', RULE, '-t', 'steady', '--rate', '20', '--duration', '4s', '--format', 'chart'],
      {
        columns: 52,
      },
    )
    const row = '█████░░░░░█████░░░░░█████░░░░░█████░░░░░'
    expect(terminal.text().split('\n')).toEqual([
      '20 requests a second evenly, for 4s, one key, seed 1',
      '',
      RULE,
      '   █ 40 passed  ░ 40 refused (50.0 %)',
      `2 │${row}`,
      ...Array.from({ length: 4 }, () => `  │${row}`),
      `0 │${row}`,
      `  └${'─'.repeat(40)}`,
      `   0${' '.repeat(37)}4s`,
      '',
    ])
  })

  it('draws parts of a block, and a mark for the smallest value', async () => {
    const trace = writeTrace(
      'steps.csv',
      [1, 20, 50, 100].flatMap((cost, index) => `${index * 1_000},a,${cost}`).join('\n'),
    )
    const [, terminal] = await simulated(['-r', 'fixed-window limit=100 window=1s', '-f', trace, '--format', 'chart'])
    const rows = terminal.text().split('\n').slice(4, 10)
    const tops = rows.map((row) =>
      row
        .replace(/^ *\d* │/, '')
        .replaceAll(/ +/g, ' ')
        .trim(),
    )
    expect(tops).toEqual(['█', '█', '█', '█ █', '▁ █ █', '▁ █ █ █'])
  })

  it('has colours where they belong', async () => {
    const args = ['-r', RULE, '-t', 'steady', '--rate', '20', '--duration', '2s', '--format', 'chart', '--slots', '20']
    const [, terminal] = await simulated(args, { hasColour: true })
    expect(terminal.text()).toContain('\u001b[32m██')
    expect(terminal.text()).toContain('\u001b[31m░░')
    expect((await simulated([...args, '--no-color'], { hasColour: true }))[1].text()).not.toContain('\u001b')
  })

  it('has slots in its JSON, and what remained for a key', async () => {
    const { results } = await simulatedJson([
      '-r',
      RULE,
      '-t',
      'steady',
      '--duration',
      '2s',
      '--slots',
      '2',
      '--watch',
      'user:1',
    ])
    expect(results[0]?.slots).toEqual([
      { fromMs: 0, admitted: 10, refused: 2, remaining: 10 },
      { fromMs: 1_000, admitted: 10, refused: 2, remaining: 10 },
    ])
  })

  it('says whom each rule refused most, and how many of their requests', async () => {
    const lines = [...Array(4).fill('1,b,1'), ...Array(3).fill('1,a,5'), '1,c', '2000,a'].join('\n')
    const trace = writeTrace('who.csv', lines)
    const rules = ['-r', 'fixed-window limit=2 window=1s', '-r', 'fixed-window limit=100 window=1s']
    const [, terminal] = await simulated([...rules, '-f', trace])
    expect(terminal.text().split('\n').slice(-3)).toEqual([
      'rule                            refused most, of their requests',
      'fixed-window limit=2 window=1s  a 3 of 4 (75.0 %), b 2 of 4 (50.0 %)',
      '',
    ])
    const { results } = await simulatedJson([...rules, '-f', trace])
    expect(results.map(({ mostRefused }) => mostRefused)).toEqual([
      [
        { key: 'a', requests: 4, refused: 3 },
        { key: 'b', requests: 4, refused: 2 },
      ],
      [],
    ])
  })

  it('names five of them at most', async () => {
    const { results } = await simulatedJson(['-r', 'fixed-window limit=1 window=1h', '--keys', '9', '--rate', '5/s'])
    expect(results[0]?.mostRefused).toEqual(
      [1, 2, 3, 4, 5].map((user) => expect.objectContaining({ key: `user:${user}` })),
    )
  })

  it('has a time line of one moment', async () => {
    const trace = writeTrace('once.csv', '5,a\n5,a\n')
    const path = join(folder, 'moment.svg')
    const [code, terminal] = await simulated(['-r', RULE, '-f', trace, '--format', 'chart', '--svg', path])
    expect(code).toBe(0)
    expect(terminal.text()).toMatch(/2 │█\n.*0 │█\n +└─\n +0 \n$/s)
    expect(readFileSync(path, 'utf8')).toContain('text-anchor="end"></text>')
  })

  it('says so when no request came', async () => {
    const [code, terminal] = await simulated(['-r', RULE, '--rate', '1/d', '--duration', '1s'])
    expect(code).toBe(0)
    expect(terminal.text()).toMatch(
      /bytes\nfixed-window limit=10 window=1s +0 +0 +0\.0 % +0 +0\.00× +0\.0 % +0\.0 % +0 +0\n/,
    )
  })

  it('is a picture too where one is asked for', async () => {
    const path = join(folder, 'picture.svg')
    const policies = writeTrace('names.yaml', 'policies: { "a<b": { rule: fixed-window, limit: 2, window: 1s } }')
    await simulatedJson([
      '--policies',
      policies,
      '-t',
      'steady',
      '--rate',
      '4',
      '--duration',
      '2s',
      '--svg',
      path,
      '--slots',
      '4',
    ])
    const svg = readFileSync(path, 'utf8')
    expect(svg).toContain('<title>4 requests a second evenly, for 2s, one key, seed 1</title>')
    expect(svg).toContain('>a&lt;b<')
    // A column each of passed and refused, and one of each in the legend.
    expect(svg.match(/<rect/g)).toHaveLength(6)
  })

  it('fails when the picture cannot be written', async () => {
    const [code, terminal] = await simulated(['-r', RULE, '--svg', join(folder, 'nowhere', 'picture.svg')])
    expect(code).toBe(1)
    expect(terminal.errors()).toMatch(/^sluice: the picture .*picture.svg cannot be written: ENOENT/)
  })

  it('is the measured summary where that is asked for', async () => {
    const [code, terminal] = await simulated(['--summary'], { isInteractive: true })
    expect([code, terminal.errors()]).toEqual([0, 'measuring every rule takes some seconds …\n'])
    const lines = terminal.text().split('\n')
    expect(lines[0]).toMatch(/^rule +poisson +bursts +adversary +worst +burst +bytes +ns +for$/)
    expect(lines.find((line) => line.startsWith('sliding-log'))).toMatch(
      /100 %, 1\.00× +100 %, 1\.00× +100 %, 1\.00× +1\.00× +1\.00× +1,608 → [\d,]+ +[\d,]+ → [\d,]+ +a hard ceiling, exact, small limits$/,
    )
    expect(lines.find((line) => line.startsWith('fixed-window '))).toMatch(/2\.00× +2\.00× +24 /)
  }, 120_000)
})
