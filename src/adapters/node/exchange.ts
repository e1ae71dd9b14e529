import type { IncomingMessage, ServerResponse } from 'node:http'
import { putLines } from '../../http/put-lines.ts'
import { PROBLEM_JSON, type Refusal } from '../../http/refusal.ts'
import type { Passage } from '../gate/gate.ts'

/** The value of a header of a Node request, by its name in small letters. */
export function headerOf({ headers }: Pick<IncomingMessage, 'headers'>, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/** Puts what a passage has to say on a Node response, and tells the passage when that is answered. */
export function startAnswer(response: ServerResponse, { lines, finish }: Passage): void {
  putLines(
    lines,
    (name) => response.getHeader(name),
    (name, value) => response.setHeader(name, value),
  )
  if (finish === undefined) return
  const end = (): void => void finish(response.writableFinished ? response.statusCode : undefined)
  // Who has hung up while the limiter was asked is gone already.
  if (response.destroyed) end()
  else response.once('close', end)
}

/** Answers a refused request. */
export function refuse(response: ServerResponse, { status, problem }: Refusal): void {
  response.statusCode = status
  response.setHeader('Content-Type', PROBLEM_JSON)
  response.end(JSON.stringify(problem))
}
