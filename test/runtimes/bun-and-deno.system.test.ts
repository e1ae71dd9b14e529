import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { memoryStore } from 'sluice'
import { storeContract } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { InstalledPackage } from '../packaging/installed-package.ts'
import { ROOT } from '../packaging/pack.ts'
import { startUpstashEmulator } from '../redis-clients/upstash-emulator.ts'
import { endWithUs } from '../servers/end-with-us.ts'
import { useServer } from '../servers/shared-servers.ts'
import { installPrograms } from './install-programs.ts'

// The package as it is installed, in the runtimes themselves.

const { length: checks } = storeContract({ createStore: memoryStore })
const right = {
  contract: { checks, failed: [] },
  waiting: {
    turns: [1, 2, 3, 4, 5],
    impatient: ['gone', 'limit'],
    jobs: ['1 starts', '1 ends', '2 starts', '2 ends', '3 starts', '3 ends'],
    permits: [true, false, true, false],
    renewed: true,
  },
}

let installed: InstalledPackage
beforeAll(async () => {
  installed = await installPrograms()
})
afterAll(() => installed?.remove())

const BUN = [join(ROOT, 'node_modules/bun/bin/bun.exe')] as const
const DENO = [join(ROOT, 'node_modules/deno/deno'), 'run', '--no-prompt'] as const
const PERMITTED = [...DENO, '--allow-net', '--allow-env', '--allow-read'] as const
type Command = readonly [string, ...string[]]

/** Runs a program to its end, and answers what it printed. A program that does not end goes with the test. */
async function report([runtime, ...args]: Command, program: string, ...given: string[]): Promise<unknown> {
  const finished = new AbortController()
  onTestFinished(() => finished.abort())
  const options = { cwd: installed.folder, signal: finished.signal }
  const { stdout } = await promisify(execFile)(runtime, [...args, program, ...given], options)
  return JSON.parse(stdout)
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
])('%s decides by every rule in memory, lets callers wait, and ends', async (_, command) => {
  expect(await report(command, 'memory.mjs')).toEqual(right)
})

describe.each<[string, Command]>([
  ['Bun', BUN],
  ['Deno', PERMITTED],
])('%s', (_, command) => {
  it('decides on Redis and lets callers wait, through ioredis, node-redis and HTTP', async () => {
    const server = await useServer()
    const { url, token, stop } = await startUpstashEmulator(server)
    onTestFinished(stop)
    const exact = { ...right, passed: 100 }
    const clients = { ioredis: exact, 'node-redis': exact, upstash: exact }
    expect(await report(command, 'redis.mjs', `${server.port}`, url, token)).toEqual(clients)
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
