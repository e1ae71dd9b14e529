import { onTestFinished } from 'vitest'
import { run } from '../../src/cli/program.ts'
import { type RecordingTerminal, recordingTerminal } from '../recording-terminal.ts'
import { waitUntil } from '../servers/wait-until.ts'

/** A line of what `sluice serve --json` tells. */
type Line = { readonly event: string; readonly at: string } & Readonly<Record<string, unknown>>

/** `sluice serve`, in this process. */
export interface Served {
  readonly terminal: RecordingTerminal
  readonly url: string
  readonly token: string
  /** What it has told so far. */
  lines(): readonly Line[]
  /** Waits until it has reported such an event, `count` times. */
  tells(event: string, count?: number): Promise<Line>
  /** Asks it to end, and resolves with its exit code. */
  stop(): Promise<number>
  post(path: string, body: object): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>
  get(path: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>
}

/** Runs `sluice serve --json` with more arguments, on a free port, and resolves when it has started. It ends with the test. */
export async function served(args: readonly string[], env: Record<string, string> = {}): Promise<Served> {
  const ending = new AbortController()
  const terminal = recordingTerminal({ signal: ending.signal, env })
  const ended = run(['serve', '--json', '--port', '0', ...args], terminal)
  const stop = () => {
    ending.abort()
    return ended
  }
  onTestFinished(() => stop().then(() => {}))
  const lines = () =>
    terminal
      .text()
      .split('\n')
      .filter(Boolean)
      .map((line): Line => JSON.parse(line))
  const tells = async (event: string, count = 1): Promise<Line> => {
    const told = () => lines().filter((line) => line.event === event)
    await waitUntil(async () => (told().length >= count ? undefined : `told: ${terminal.text()}${terminal.errors()}`))
    return told()[count - 1] as Line
  }
  const started = await Promise.race([tells('started'), ended.then(() => Promise.reject(new Error(terminal.errors())))])
  const url = started.url as string
  const token = env.SLUICE_TOKEN ?? (started.page as string).split('#token=')[1] ?? ''
  const ask = async (path: string, init: RequestInit) => {
    const response = await fetch(url + path, init)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  return {
    terminal,
    url,
    token,
    lines,
    tells,
    stop,
    get: (path) => ask(path, { headers: { authorization: headers.authorization } }),
    post: (path, body) => ask(path, { method: 'POST', headers, body: JSON.stringify(body) }),
  }
}
