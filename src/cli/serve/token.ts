import { randomBytes } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { isLoopback } from '../../service/server/host-check.ts'
import { checkToken } from '../../service/server/token-check.ts'
import { readToken } from '../command/service-client.ts'
import { UsageError } from '../terminal/command-failure.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** What clients have to send, and how people get at it. */
export interface Token {
  readonly text: string
  /** Whether it was made for this run, so that no client knows it yet. */
  readonly isNew: boolean
  /** How a shell says it. */
  readonly inShell: string
}

/** The token of a file, of the environment, or a new one. */
export async function resolveToken(file: string | undefined, terminal: Terminal): Promise<Token> {
  const given = await readToken(file, terminal)
  if (given === undefined) {
    const text = randomBytes(24).toString('base64url')
    return { text, isNew: true, inShell: text }
  }
  const inShell = file === undefined ? '$SLUICE_TOKEN' : `$(cat ${quoteForShell(file)})`
  return { text: checkToken(given), isNew: false, inShell }
}

/** Throws when other machines can reach the service and its token is a new one: their users could not know it. */
export async function assertOwnToken(option: string, host: string, { isNew }: Token): Promise<void> {
  if (!isNew || (await isOnlyLocal(option, host))) return
  const rule = 'a service that others can reach needs a token in --token-file or SLUICE_TOKEN'
  throw new UsageError(`${rule}, got ${option} ${host} and neither`)
}

/** Whether only this machine can reach a host. Rejects with a `UsageError` when it is no address. */
export async function isOnlyLocal(option: string, host: string): Promise<boolean> {
  const addresses = await lookup(host, { all: true }).catch((error: Error) => {
    throw new UsageError(`${option} ${host} is not an address of this machine: ${error.message}`)
  })
  return addresses.every(({ address }) => isLoopback(address))
}

function quoteForShell(file: string): string {
  return /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`
}
