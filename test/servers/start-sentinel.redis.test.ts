import { existsSync } from 'node:fs'
import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { ask } from './ask.ts'
import { isRunning } from './is-running.ts'
import { type RunningSentinel, startSentinel } from './start-sentinel.ts'

it('lets a client write to the primary and its replica follow; stop leaves no process and no folder', async () => {
  const setup = await startSentinel()
  onTestFinished(setup.stop)
  const client = clientOf(setup)
  expect(await client.set('key', 'value')).toBe('OK')
  expect(await client.wait(1, 5_000)).toBe(1)
  expect(await ask(setup.primary, 'GET', 'key')).toBe('value')
  expect(await Promise.all(setup.replicas.map((replica) => ask(replica, 'GET', 'key')))).toEqual(['value'])

  const servers = [setup.primary, ...setup.replicas, ...setup.sentinels]
  const left = () => servers.map((server) => [isRunning(server.pid), existsSync(server.folder)])
  expect(left()).toEqual(Array(5).fill([true, true]))
  await setup.stop()
  await setup.stop()
  expect(left()).toEqual(Array(5).fill([false, false]))
})

it('puts a replica in the place of a primary that has crashed, and clients follow', async () => {
  const setup = await startSentinel({ replicas: 2, downAfterMs: 500 })
  onTestFinished(setup.stop)
  const client = clientOf(setup)
  await client.set('key', 'value')
  await client.wait(2, 5_000)
  await setup.primary.stop()
  expect(await client.set('key', 'after')).toBe('OK')
  const values = await Promise.all(setup.replicas.map((replica) => ask(replica, 'GET', 'key')))
  expect(values).toContain('after')
})

function clientOf({ sentinels, masterName }: RunningSentinel): Redis {
  const client = new Redis({ sentinels: [...sentinels], name: masterName, maxRetriesPerRequest: null })
  // A lost connection is what the tests are about.
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return client
}
