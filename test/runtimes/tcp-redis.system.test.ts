import type { Decision } from 'sluice'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { InstalledPackage } from '../packaging/installed-package.ts'
import { useServer } from '../servers/shared-servers.ts'
import { installPrograms } from './install-programs.ts'
import { type RunningWorker, startWorker } from './start-worker.ts'

// Redis over TCP in a Worker. A connection ends with the request that opened it.

let installed: InstalledPackage
let worker: RunningWorker

beforeAll(async () => {
  installed = await installPrograms()
  const { port } = await useServer()
  worker = await startWorker(installed.folder, 'tcp-redis.mjs', {
    // ioredis does not load before: it reads the version of Node.
    compatibilityDate: '2026-04-01',
    bindings: { PORT: port, TIMEOUT: 1_000 },
  })
})

afterAll(async () => {
  await worker?.stop()
  await installed?.remove()
})

it('requests that each open a connection are decided, through ioredis and node-redis', async () => {
  const asked = ['/ioredis', '/node-redis', '/ioredis', '/node-redis'].map(async (path) => {
    return (await (await fetch(worker.url + path)).json()) as Decision
  })
  const decisions = await Promise.all(asked)
  expect(decisions.map(({ remaining }) => remaining).sort()).toEqual([96, 97, 98, 99])
})

it('a request that uses the connection of an earlier one fails, and says why', async () => {
  expect((await fetch(`${worker.url}/kept`)).status).toBe(200)
  const second = await fetch(`${worker.url}/kept`)
  expect([second.status, await second.text()]).toEqual([
    500,
    expect.stringMatching(
      /^the store timed out after 1000 ms\. In a Worker a connection ends with its request: open one/,
    ),
  ])
})
