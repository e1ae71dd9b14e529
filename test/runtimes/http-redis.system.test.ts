import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Decision, memoryStore } from 'sluice'
import { storeContract } from 'sluice/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { InstalledPackage } from '../packaging/installed-package.ts'
import { startUpstashEmulator, type UpstashEmulator } from '../redis-clients/upstash-emulator.ts'
import { useServer } from '../servers/shared-servers.ts'
import { installPrograms } from './install-programs.ts'
import { type RunningWorker, startWorker } from './start-worker.ts'

// What a request to a Worker has started ends with it: requests share a limiter, and none waits for what another has sent.

let installed: InstalledPackage
let emulator: UpstashEmulator
let front: Server
let worker: RunningWorker
/** Called with each command while commands are held back: they are never answered. */
let holdBack: (() => void) | undefined

beforeAll(async () => {
  installed = await installPrograms()
  emulator = await startUpstashEmulator(await useServer())
  front = createServer(async (request, response) => {
    if (holdBack !== undefined) return holdBack()
    const { authorization = '' } = request.headers
    const body = await text(request)
    const reply = await fetch(`${emulator.url}${request.url}`, { method: 'POST', headers: { authorization }, body })
    response.writeHead(reply.status).end(await reply.text())
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  const address = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  worker = await startWorker(installed.folder, 'http-redis.mjs', {
    bindings: { ADDRESS: address, TOKEN: emulator.token },
  })
})

afterAll(async () => {
  await worker?.stop()
  front?.closeAllConnections()
  front?.close()
  await emulator?.stop()
  await installed?.remove()
})

const ask = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(`${worker.url}/${path}`, init)
  return (await response.json()) as Decision
}

// First: nothing is known of the server yet, and every request needs what the one that has ended asked for.
it('a request that has ended before its answer came holds up no other', async () => {
  const leave = new AbortController()
  const arrived = new Promise<void>((resolve) => {
    holdBack = resolve
  })
  const left = ask('consume/ben', { signal: leave.signal })
  await arrived
  leave.abort()
  await expect(left).rejects.toThrow('aborted')
  holdBack = undefined
  expect(await Promise.all([ask('consume/ben'), ask('consume/ben')])).toMatchObject([
    { decidedBy: 'redis' },
    { decidedBy: 'redis' },
  ])
  expect((await ask('peek/ben')).remaining).toBe(98)
})

it('a Worker decides on Redis over HTTP as every store does', async () => {
  const { length: checks } = storeContract({ createStore: memoryStore })
  expect(await ask('contract')).toEqual({ checks, failed: [] })
})

it('requests that share a limiter are decided exactly', async () => {
  const decisions = await Promise.all(Array.from({ length: 150 }, () => ask('consume/ann')))
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
})
