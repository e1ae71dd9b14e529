import { beforeAll, describe, expect, it } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { recordingTerminal } from '../recording-terminal.ts'
import { ruleNames } from '../rule-registry.ts'
import { type Address, ask } from '../servers/ask.ts'
import { type SharedServers, useCluster, useServer } from '../servers/shared-servers.ts'

let server: Address
let cluster: SharedServers['cluster']
beforeAll(async () => {
  ;[server, cluster] = await Promise.all([useServer(), useCluster()])
})

async function said(...args: string[]) {
  const terminal = recordingTerminal()
  const code = await run(['bench', ...args], terminal)
  return { code, out: terminal.text(), err: terminal.errors() }
}

describe('bench', () => {
  it('measures every rule in memory, and says on what', async () => {
    const { code, out, err } = await said('--seconds', '0.05')
    expect(code).toBe(0)
    expect(err).toMatch(/^Node v\d+\..*, \d+ × .*; 0\.05 s a line, 1000 keys\n$/)
    const lines = out.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^rule +store +in flight +decisions\/s +p50 ms +p99 ms$/)
    expect(lines.slice(1).map((line) => line.split(/ {2,}/)[0])).toEqual(ruleNames)
    for (const line of lines.slice(1)) expect(line).toMatch(/ memory +1 +[\d,]+ +\d\.\d{3} +\d+\.\d{3}$/)
  })

  it.each([
    ['one server', () => `redis://127.0.0.1:${server.port}`, () => [server]],
    ['a Cluster', () => `redis-cluster://127.0.0.1:${cluster.nodes[0]?.port}`, () => cluster.nodes],
  ])('measures one at a time and many in flight on %s, and leaves no key', async (_, url, nodes) => {
    const { code, out, err } = await said(
      '--seconds',
      '0.1',
      '--keys',
      '2000',
      '--rule',
      'token-bucket',
      '--redis',
      url(),
      '--json',
    )
    expect([code, err]).toEqual([0, ''])
    const { forMs, keys, lines } = JSON.parse(out)
    expect([forMs, keys]).toEqual([100, 2_000])
    expect(lines.map(({ store, inFlight }: { store: string; inFlight: number }) => [store, inFlight])).toEqual([
      ['memory', 1],
      ['redis', 1],
      ['redis', 512],
    ])
    for (const { decisions, perSecond, p50Ms, p99Ms } of lines) {
      expect(decisions).toBeGreaterThan(10)
      expect(perSecond).toBeLessThanOrEqual(decisions * 10)
      expect(p50Ms).toBeGreaterThan(0)
      expect(p99Ms).toBeGreaterThanOrEqual(p50Ms)
    }
    for (const node of nodes()) expect(await ask(node, 'DBSIZE')).toBe(0)
  })

  it('ends early when somebody wants it to', async () => {
    const terminal = recordingTerminal({ signal: AbortSignal.abort() })
    expect(await run(['bench'], terminal)).toBe(0)
    expect(terminal.text()).toBe('rule  store  in flight  decisions/s  p50 ms  p99 ms\n')
    const ending = new AbortController()
    const cut = recordingTerminal({ signal: ending.signal })
    const stopped = run(['bench', '--rule', 'token-bucket', 'fixed-window', '--seconds', '60', '--json'], cut)
    setImmediate(() => ending.abort())
    expect(await stopped).toBe(0)
    expect(JSON.parse(cut.text()).lines).toEqual([])
  })

  it.each([
    [['--seconds', '0'], '--seconds must be a number from 0.01 to 60, got 0'],
    [['--seconds', 'x'], '--seconds must be a number from 0.01 to 60, got x'],
    [['--keys', '0'], '--keys must be a number from 1 to 1000000, got 0'],
    [['--rule', 'x'], `--rule must be one of ${ruleNames.join(', ')}, got x`],
  ])('refuses %j', async (args, message) => {
    expect(await said(...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })
})
