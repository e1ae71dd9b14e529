import { memoryStore } from 'sluice'
import { partitionKey } from 'sluice/http'
import { storeContract } from 'sluice/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { InstalledPackage } from '../packaging/installed-package.ts'
import { installPrograms } from './install-programs.ts'
import { type RunningWorker, startWorker } from './start-worker.ts'

// The package as it is installed, in the program that Cloudflare runs Workers with. Timers are numbers there, a module may draw no
// random numbers, and what a request has started ends with it.

let installed: InstalledPackage
let worker: RunningWorker

beforeAll(async () => {
  installed = await installPrograms()
  worker = await startWorker(installed.folder, 'worker.mjs')
})

afterAll(async () => {
  await worker?.stop()
  await installed?.remove()
})

const ask = (path: string) => fetch(`${worker.url}${path}`)

it('a Worker decides by every rule in memory', async () => {
  const { length: checks } = storeContract({ createStore: memoryStore })
  expect(await (await ask('/contract')).json()).toEqual({ checks, failed: [] })
})

it.each(['/fetch', '/hono'])('a Worker limits requests through %s', async (path) => {
  const answers = [await ask(path), await ask(path), await ask(path)]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(answers[2]?.headers.get('retry-after')).toMatch(/^\d+$/)
})

it('a Worker takes permits and releases them', async () => {
  expect(await (await ask('/acquire')).json()).toEqual([true, false, true, false, true, false])
})

it('a Worker waits for its turn', async () => {
  expect(await (await ask('/wait')).json()).toEqual([true, true, true])
})

it('requests to a Worker wait for their turns, whichever of them has ended before', async () => {
  const answers = await Promise.all(Array.from({ length: 6 }, async () => (await ask('/turn')).json()))
  expect(answers).toEqual([true, true, true, true, true, true])
})

it('a Worker runs functions one after the other', async () => {
  expect(await (await ask('/schedule')).json()).toMatchObject([{ value: 2 }, { value: 4 }, { value: 6 }])
})

it('a Worker counts for a key that has to be hashed', async () => {
  expect(await (await ask('/hashed')).json()).toEqual([true, partitionKey('secret', 'ann')])
})
