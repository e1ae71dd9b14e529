import { readFile } from 'node:fs/promises'
import { show } from '../core/check.ts'
import { CommandFailure, EXIT } from './command-failure.ts'
import type { Terminal } from './terminal.ts'

/** A running service, asked over HTTP. */
export interface ServiceClient {
  /** Where it is, for people. */
  readonly place: string
  get(path: string): Promise<unknown>
  post(path: string, body: object): Promise<unknown>
}

/** Where `sluice serve` listens unless it is told otherwise. */
export const SERVICE_URL = 'http://127.0.0.1:8080'

/** How a service is named in the help of a command. */
export const TOKEN_OPTION: readonly [string, string] = [
  '--token-file <file>',
  'a file with the token of the service (default: SLUICE_TOKEN)',
]

/**
 * A client of the service at `url`. What fails rejects with a `CommandFailure` in a sentence.
 *
 * @param withinMs how long an answer may take, ten seconds unless it is said.
 */
export function serviceClient(
  url: string,
  token: string | undefined,
  signal: AbortSignal,
  withinMs: number = LATEST_MS,
): ServiceClient {
  const base = baseOf(url)
  const ask = async (path: string, init: RequestInit): Promise<unknown> => {
    const headers = { ...init.headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    // A service never sends a client elsewhere, and the token is for nobody else.
    const request = {
      ...init,
      headers,
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(withinMs)]),
    } as const
    const response = await fetch(base + path, request).catch((error: unknown) => {
      throw new CommandFailure(`no service answers at ${base}: ${reasonOf(error, withinMs)}`, undefined, {
        cause: error,
      })
    })
    if (response.status === UNAUTHORIZED) throw new CommandFailure(tokenNeeded(base, token))
    return answerOf(base, response)
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
export async function tokenFrom(file: string | undefined, { env }: Terminal): Promise<string | undefined> {
  if (file === undefined) return env.SLUICE_TOKEN || undefined
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new CommandFailure(
      `the file of the token cannot be read: ${code === 'ENOENT' ? `there is no ${show(file)}` : message}`,
      EXIT.wrong,
    )
  }
}

const LATEST_MS = 10_000
const UNAUTHORIZED = 401

function tokenNeeded(base: string, token: string | undefined): string {
  if (token !== undefined) return `the service at ${base} does not take the token`
  return `the service at ${base} wants a token: give --token-file, or SLUICE_TOKEN in the environment`
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.search !== '') {
    throw new CommandFailure(`the URL of a service looks like ${SERVICE_URL}, got ${show(url)}`, EXIT.wrong)
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/$/, '')}`
}

function reasonOf(error: unknown, withinMs: number): string {
  const { cause, name, message } = error as Error
  if (name === 'TimeoutError') return `no answer within ${withinMs} ms`
  if (!(cause instanceof Error)) return message
  return (cause as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'connection refused' : cause.message
}

async function answerOf(base: string, response: Response): Promise<unknown> {
  const text = await response.text()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new CommandFailure(`what answers at ${base} is no Sluice: status ${response.status}`)
  }
  if (response.ok) return body
  const { code = `${response.status}`, message = '' } =
    (body as { error?: { code?: string; message?: string } }).error ?? {}
  const isWrong = response.status === 400 || response.status === 404
  throw new CommandFailure(`${base} says: ${message} (${code})`, isWrong ? EXIT.wrong : EXIT.failed)
}
