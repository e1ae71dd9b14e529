import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { endWithUs } from '../servers/end-with-us.ts'

/** `sluice serve` as people run it. */
export interface RunningService {
  readonly url: string
  readonly port: number
  readonly token: string
  /** Asks `times` times at once, and gives the decisions. */
  consume(question: object, times?: number): Promise<{ allowed: boolean }[]>
  stop(): Promise<void>
}

/** How to start it. */
export interface ServiceOptions {
  readonly policies?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const PROGRAM = fileURLToPath(new URL('../../dist/cli/sluice.mjs', import.meta.url))
export const TOKEN = 'a-token-for-the-tests-in-a-browser'

/** Starts the built service with a file of policies, and ends it with the test. */
export async function startService(options: ServiceOptions = {}): Promise<RunningService> {
  const service = await launchService(options)
  onTestFinished(service.stop)
  return service
}

/** Starts the built service with a file of policies. */
export async function launchService(options: ServiceOptions = {}): Promise<RunningService> {
  const { policies = POLICIES, args = ['--port', '0'], env = { SLUICE_TOKEN: TOKEN } } = options
  const folder = await mkdtemp(join(tmpdir(), 'sluice-browser-'))
  const file = join(folder, 'limits.yaml')
  await writeFile(file, policies)
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--json', '--policies', file, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithUs(child, folder)
  const stop = async (): Promise<void> => {
    await ended(child)
    await rm(folder, { recursive: true, force: true })
  }
  const { page, url } = await started(child)
  const token = new URL(page).hash.replace('#token=', '') || TOKEN
  const { port } = new URL(url)
  const reachable = url.replace('0.0.0.0', '127.0.0.1')
  const consume = async (question: object, times = 1): Promise<{ allowed: boolean }[]> => {
    const response = await fetch(`${reachable}/v1/consume`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ requests: Array.from({ length: times }, () => question) }),
    })
    const answer = (await response.json()) as { decisions: { allowed: boolean }[] }
    return answer.decisions
  }
  return { url: reachable, port: Number(port), token, consume, stop }
}

async function started(child: ChildProcess): Promise<{ page: string; url: string }> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [string | number]
  if (typeof line !== 'string') throw new Error(`sluice serve ended with ${line} before it had started`)
  return JSON.parse(line)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

const POLICIES = `policies:
  api:
    rule: sliding-window
    limit: 100
    window: 1h
  messages:
    tiers:
      user: { rule: fixed-window, limit: 20, window: 1h }
      ip: { rule: token-bucket, capacity: 5, refill: 1, period: 1h, shadow: true }
`
