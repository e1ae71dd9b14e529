import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recordingTerminal } from '../../../test/recording-terminal.ts'
import type { Address } from '../../../test/servers/ask.ts'
import { useServer } from '../../../test/servers/shared-servers.ts'
import { run } from '../program.ts'

let server: Address
let redis: Redis

beforeAll(async () => {
  server = await useServer()
  redis = new Redis(server.port, server.host)
})
afterAll(async () => {
  redis?.disconnect()
})

it('measures what a key takes on the server, and leaves none behind', async () => {
  const terminal = recordingTerminal()
  const rules = [
    'sliding-log limit=50 window=1m',
    'sliding-log limit=900 window=1m',
    'fixed-window limit=900 window=1m',
  ]
  const args = [...rules.flatMap((rule) => ['--rule', rule]), '--duration', '1m', '--json']
  const code = await run(['simulate', ...args, '--redis', `redis://${server.host}:${server.port}`], terminal)
  expect([code, terminal.errors()]).toEqual([0, ''])
  const bytes: number[] = JSON.parse(terminal.text()).results.map(
    ({ redisBytes }: { redisBytes: number }) => redisBytes,
  )
  const [small, large, fixed] = bytes as [number, number, number]
  expect(small).toBeGreaterThan(200)
  expect(large).toBeGreaterThan(10 * fixed)
  expect(large).toBeGreaterThan(5 * small)
  expect(await redis.dbsize()).toBe(0)
})

it('shows it in the table', async () => {
  const terminal = recordingTerminal()
  const url = `redis://${server.host}:${server.port}`
  await run(['simulate', '--rule', 'concurrency limit=5 lease=1m', '--duration', '1m', '--redis', url], terminal)
  expect(terminal.text()).toMatch(/ns +Redis\n/)
  expect(terminal.text()).toContain('  Redis  bytes of one used-up key, measured on the server\n')
})

it('adds it to the summary, at both limits', async () => {
  const terminal = recordingTerminal()
  await run(['simulate', '--summary', '--json', '--redis', `redis://${server.host}:${server.port}`], terminal)
  const { rules } = JSON.parse(terminal.text()) as { rules: { name: string; redisBytesPerKey: [number, number] }[] }
  for (const { redisBytesPerKey } of rules) expect(redisBytesPerKey).toHaveLength(2)
  const [small, large] = rules.find(({ name }) => name === 'sliding-log')?.redisBytesPerKey ?? [0, 0]
  expect(large).toBeGreaterThan(20 * small)
}, 120_000)

it('fails where the server does not tell', async () => {
  await redis.acl('SETUSER', 'guest', 'on', '>word', '~*', '+@all', '-memory')
  const terminal = recordingTerminal()
  const args = ['--rule', 'fixed-window limit=5 window=1m', '--duration', '1s']
  const code = await run(['simulate', ...args, '--redis', `redis://guest:word@${server.host}:${server.port}`], terminal)
  expect([code, terminal.text()]).toEqual([1, ''])
  expect(terminal.errors()).toMatch(/^sluice: Redis at 127\.0\.0\.1:\d+ does not report its memory: NOPERM/)
  expect(await redis.dbsize()).toBe(0)
})
