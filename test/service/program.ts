import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { waitUntil } from '../servers/wait-until.ts'
import { TOKEN } from './service-stage.ts'

const PROGRAM = fileURLToPath(new URL('../../dist/cli/sluice.mjs', import.meta.url))

/** Starts `sluice serve --json` as it is installed, in a process of its own: what signals and exit codes are about. It ends with the test. */
export function startProgram(...args: readonly string[]): { readonly child: ChildProcess; said(): string } {
  const env = { ...process.env, SLUICE_TOKEN: TOKEN, SLUICE_REDIS_URL: '' }
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--json', '--port', '0', ...args], { env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk
    })
  }
  return { child, said: () => text }
}

/** Waits until the program has said something. */
export function says(said: () => string, part: string): Promise<void> {
  return waitUntil(async () => (said().includes(part) ? undefined : said()))
}

/** Where it listens, once it does. */
export async function readPort(said: () => string): Promise<number> {
  await says(said, '"started"')
  return Number(/127\.0\.0\.1:(\d+)/.exec(said())?.[1])
}
