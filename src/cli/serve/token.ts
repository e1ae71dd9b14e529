import { randomBytes } from 'node:crypto'
import { checkToken } from '../../service/server/token-check.ts'
import { readToken } from '../command/service-client.ts'
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

function quoteForShell(file: string): string {
  return /^[\w./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`
}
