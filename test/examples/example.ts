import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import type { RunningServer } from '../servers/start-server.ts'
import { waitUntil } from '../servers/wait-until.ts'

/** A server among the examples, run as a user runs it, after the build. Takes any free port. */
export class Example {
  readonly #child: ChildProcess
  said = ''
  complained = ''

  /** `name` is its folder; `env` what it finds in its environment, besides ours. */
  constructor(name: string, env: Readonly<Record<string, string>> = {}) {
    const { REDIS_URL: _, ...others } = process.env
    const file = fileURLToPath(new URL(`../../examples/${name}/server.mjs`, import.meta.url))
    this.#child = spawn(process.execPath, [file], {
      env: { ...others, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout?.on('data', (chunk) => {
      this.said += chunk
    })
    this.#child.stderr?.on('data', (chunk) => {
      this.complained += chunk
    })
  }

  /** Waits until it has said so. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const isThere = () => pattern.test(this.said)
    const why = () => `${pattern} was not said, but: ${this.said}${this.complained}`
    await waitUntil(async () => (isThere() || this.#child.exitCode !== null ? undefined : why()))
    if (!isThere()) throw new Error(`it ended, and ${why()}`)
    return pattern.exec(this.said) as RegExpExecArray
  }

  /** Where it listens: `http://127.0.0.1:49152`. */
  async url(): Promise<string> {
    return (await this.says(/http:\/\/127\.0\.0\.1:\d+/))[0]
  }

  /** Asks it to end, and resolves with its exit code. Its errors are printed when it ended badly. */
  async stop(): Promise<number | null> {
    const ended = this.#child.exitCode === null ? once(this.#child, 'exit') : [this.#child.exitCode]
    this.#child.kill('SIGTERM')
    const [code] = await ended
    if (code !== 0) console.error(this.complained)
    return code
  }
}

/** The names of the limits that a Redis server keeps counts of, in alphabetical order: each once, however many keys it has. */
export async function limitsOn({ host, port }: RunningServer): Promise<readonly string[]> {
  const client = new Redis(port, host)
  const keys = await client.keys('sluice:*')
  await client.quit()
  const limiters = new Set(keys.map((key) => key.split(':')[1] as string))
  // A probe of the circuit breaker, which a busy machine may start, belongs to no limiter.
  limiters.delete('')
  return [...limiters].sort()
}
