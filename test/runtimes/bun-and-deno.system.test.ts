import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { memoryStore } from 'sluice'
import { storeContract } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { InstalledPackage } from '../packaging/installed-package.ts'
import { ROOT } from '../packaging/pack.ts'
import { output } from '../packaging/run.ts'
import { endWithUs } from '../servers/end-with-us.ts'
import { useServer } from '../servers/shared-servers.ts'
import { installPrograms } from './install-programs.ts'

// The package as it is installed, in the runtimes themselves.

const { length: checks } = storeContract({ createStore: memoryStore })

let installed: InstalledPackage
beforeAll(async () => {
  installed = await installPrograms()
})
afterAll(() => installed?.remove())

const BUN = [join(ROOT, 'node_modules/bun/bin/bun.exe')] as const
const DENO = [join(ROOT, 'node_modules/deno/deno'), 'run', '--no-prompt'] as const
const PERMITTED = [...DENO, '--allow-net', '--allow-env', '--allow-read'] as const
type Command = readonly [string, ...string[]]

/** Runs a program to its end, and answers what it printed. */
async function report([runtime, ...args]: Command, program: string, ...given: string[]): Promise<unknown> {
  return JSON.parse(await output(runtime, [...args, program, ...given], installed.folder))
}

/** Starts the server, and answers where it listens. */
async function serve([runtime, ...args]: Command): Promise<string> {
  const child: ChildProcess = spawn(runtime, [...args, 'serve.mjs'], {
    cwd: installed.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithUs(child, installed.folder)
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const port = await Promise.race([once(lines, 'line'), ended.then(() => undefined)])
  if (port === undefined) throw new Error(`${runtime} ended before it listened`)
  return `http://127.0.0.1:${port[0]}`
}

it.each<[string, Command]>([
  ['Bun', BUN],
  ['Deno', PERMITTED],
  ['Deno without any permission', DENO],
])('%s decides by every rule in memory', async (_, command) => {
  expect(await report(command, 'memory.mjs')).toEqual({ checks, failed: [] })
})

describe.each<[string, Command]>([
  ['Bun', BUN],
  ['Deno', PERMITTED],
])('%s', (_, command) => {
  it('decides on Redis, through ioredis and node-redis', async () => {
    const { port } = await useServer()
    const right = { checks, failed: [], passed: 100 }
    expect(await report(command, 'redis.mjs', `${port}`)).toEqual({ ioredis: right, 'node-redis': right })
  })

  it('limits requests to its own server by their address, through fetch and Hono', async () => {
    const url = await serve(command)
    for (const path of ['/fetch', '/hono']) {
      const answers = []
      for (let time = 0; time < 3; time++) answers.push(await fetch(url + path))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
      expect(await answers[1]?.text()).toBe('0 left')
      expect(answers[2]?.headers.get('retry-after')).toMatch(/^\d+$/)
    }
  })
})
