import { readFile } from 'node:fs/promises'
import { show } from '../../core/check.ts'
import { CommandFailure, EXIT, UsageError } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** A running service, asked over HTTP. */
export interface ServiceClient {
  /** Where it is, for people. */
  readonly place: string
  get(path: string): Promise<unknown>
  post(path: string, body: object): Promise<unknown>
}

/** Where `sluice serve` listens by default. */
export const SERVICE_URL = 'http://127.0.0.1:8080'

/** How a service is named in the help of a command. */
export const TOKEN_OPTION: readonly [string, string] = [
  '--token-file <file>',
  'a file with the token of the service (default: SLUICE_TOKEN)',
]

/**
 * A client of the service at `url`. What fails rejects with a `CommandFailure` in a sentence.
 *
 * @param withinMs how long an answer may take, ten seconds by default.
 */
export function createServiceClient(
  url: string,
  token: string | undefined,
  signal: AbortSignal,
  withinMs: number = LATEST_MS,
): ServiceClient {
  const base = readBaseUrl(url)
  const ask = async (path: string, init: RequestInit): Promise<unknown> => {
    const headers = { ...init.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    // A service never sends a client elsewhere, and the token is for this service alone.
    const request = { ...init, headers, redirect: 'error' } as const
    const { status, text } = await fetchWithin(withinMs, base + path, request, signal).catch((error: unknown) => {
      const reason = describeFailure(error)
      throw new CommandFailure(`no service answers at ${base}: ${reason}`, undefined, { cause: error })
    })
    if (status === UNAUTHORIZED) throw new CommandFailure(describeTokenProblem(base, token))
    return readReply(base, status, text)
  }
  return {
    place: base,
    get: (path) => ask(path, {}),
    post: (path, body) => {
      const headers = { 'content-type': 'application/json' }
      return ask(path, { method: 'POST', headers, body: JSON.stringify(body) })
    },
  }
}

/** The token in a file or in the environment, without the line break that editors leave; `undefined` when there is none. */
export async function readToken(file: string | undefined, { env }: Terminal): Promise<string | undefined> {
  if (file === undefined) return env.SLUICE_TOKEN || undefined
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(`the token file cannot be read: ${code === 'ENOENT' ? `there is no ${show(file)}` : message}`)
  }
}

const LATEST_MS = 10_000
const OK = 200
const BAD_REQUEST = 400
const UNAUTHORIZED = 401
const NOT_FOUND = 404

function describeTokenProblem(base: string, token: string | undefined): string {
  if (token !== undefined) return `the service at ${base} rejects the token. Check --token-file or SLUICE_TOKEN`
  return `the service at ${base} needs a token. Set --token-file or SLUICE_TOKEN`
}

function readBaseUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.search !== '') {
    throw new UsageError(`the URL of a service must look like ${SERVICE_URL}, got ${show(url)}`)
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/$/, '')}`
}

interface HttpReply {
  readonly status: number
  readonly text: string
}

/** All of an answer. A timer of its own: in Node 20 one that only `AbortSignal.any` knows may be collected before it rings. */
async function fetchWithin(ms: number, url: string, request: RequestInit, signal: AbortSignal): Promise<HttpReply> {
  const ending = new AbortController()
  const end = (): void => ending.abort(signal.reason)
  const late = (): void => ending.abort(new Error(`no answer within ${ms} ms`))
  const timeout = setTimeout(late, ms)
  signal.addEventListener('abort', end)
  try {
    signal.throwIfAborted()
    const response = await fetch(url, { ...request, signal: ending.signal })
    return { status: response.status, text: await response.text() }
  } finally {
    clearTimeout(timeout)
    signal.removeEventListener('abort', end)
  }
}

function describeFailure(error: unknown): string {
  const { cause, message } = error as Error
  if (!(cause instanceof Error)) return message
  return (cause as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'connection refused' : cause.message
}

function readReply(base: string, status: number, text: string): unknown {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new CommandFailure(`${base} is not a Sluice service: status ${status}`)
  }
  if (status === OK) return body
  const { code = `${status}`, message = '' } = (body as { error?: Partial<Record<string, string>> } | null)?.error ?? {}
  const isWrong = status === BAD_REQUEST || status === NOT_FOUND
  throw new CommandFailure(`${base} says: ${message} (${code})`, isWrong ? EXIT.wrong : EXIT.failed)
}
