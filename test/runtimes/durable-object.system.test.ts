import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Decision, memoryStore } from 'sluice'
import { storeContract } from 'sluice/testing'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { InstalledPackage } from '../packaging/installed-package.ts'
import { installPrograms } from './install-programs.ts'
import { type RunningWorker, startWorker } from './start-worker.ts'

// The store of Durable Objects, in a real one: workerd gives it the storage, the alarm and the eviction.

let installed: InstalledPackage
let worker: RunningWorker

const start = () =>
  startWorker(installed.folder, 'object.mjs', {
    durableObjects: { LIMITS: { className: 'Limits', useSQLite: true } },
    durableObjectsPersist: join(installed.folder, 'objects'),
  })

beforeAll(async () => {
  installed = await installPrograms()
  worker = await start()
})

afterAll(async () => {
  await worker?.stop()
  await installed?.remove()
})

/** What a method of an object answers: `/<object>/<method>/<key>`. */
const ask = async <Answer = Decision>(path: string): Promise<Answer | string> => {
  const response = await fetch(`${worker.url}/${path}`)
  return response.ok ? (response.json() as Promise<Answer>) : response.text()
}
const isAllowed = (answer: Decision | string) => (answer as Decision).allowed

it('decides as every store does', async () => {
  const { length: checks } = storeContract({ createStore: memoryStore })
  expect(await ask('contract/contract')).toEqual({ checks, failed: [] })
})

it('lets exactly the limit pass, of many requests at once', async () => {
  const decisions = await Promise.all(Array.from({ length: 150 }, () => ask('busy/consume/ann')))
  expect(decisions.filter(isAllowed)).toHaveLength(100)
  expect(decisions[0]).toMatchObject({ limit: 100, decidedBy: 'durable-object' })
})

it('lets requests wait for their turn, whichever of them has ended before', async () => {
  const turns = await Promise.all(Array.from({ length: 5 }, () => ask('turns/wait/ann')))
  expect(turns.map(isAllowed)).toEqual([true, true, true, true, true])
})

it('outlives the eviction of the object, and the end of the program', async () => {
  expect(await ask('kept/consume/ann')).toMatchObject({ remaining: 99 })
  expect(await ask('kept/evict')).toMatch('evicted')
  expect(await ask('kept/consume/ann')).toMatchObject({ remaining: 98 })
  await worker.stop()
  worker = await start()
  expect(await ask('kept/consume/ann')).toMatchObject({ remaining: 97 })
})

it('knows after it has slept by which rule it has counted', async () => {
  expect(await ask('plans/plan/10')).toMatchObject({ remaining: 5 })
  expect(await ask('plans/evict')).toMatch('evicted')
  expect(await ask('plans/plan/20')).toMatchObject({ remaining: 5 })
})

it('limits as the page about runtimes shows', async () => {
  const page = await readFile(new URL('../../docs/runtimes.md', import.meta.url), 'utf8')
  const [, program = ''] = /```js compile\n([\s\S]*?)```/.exec(page) ?? []
  await writeFile(join(installed.folder, 'page.mjs'), program)
  const shown = await startWorker(installed.folder, 'page.mjs', {
    durableObjects: { LIMITS: { className: 'Limits', useSQLite: true } },
  })
  const headers = { 'cf-connecting-ip': '203.0.113.7' }
  // Some more than the limit: a window may end meanwhile, and a little comes back.
  const answers = await Promise.all(Array.from({ length: 120 }, () => fetch(shown.url, { headers })))
  await shown.stop()
  const refused = answers.filter(({ status }) => status !== 200)
  expect(refused.length).toBeGreaterThan(0)
  expect(refused.length).toBeLessThanOrEqual(20)
  for (const { status, headers } of refused) {
    expect([status, headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
  }
})

it('deletes what has expired when its alarm rings, and nothing else', async () => {
  await ask('old/consume/ann')
  expect(await ask('old/expire/ben')).toEqual({ hadAlarm: true, entries: 2 })
  await vi.waitUntil(async () => (await ask<number>('old/count')) === 1, { timeout: 60_000 })
  expect(await ask('old/consume/ann')).toMatchObject({ remaining: 98 })
})
