import type { IncomingMessage, ServerResponse } from 'node:http'
import { PROBLEM_JSON, type Refusal } from '../../http/refusal.ts'
import { combineField } from '../../http/set-header-fields.ts'
import type { Passage } from '../gate/passage.ts'

/** The value of a header of a Node request, by its name in small letters. */
export function headerOf({ headers }: Pick<IncomingMessage, 'headers'>, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/** Puts what a passage has to say on a Node response, and tells the passage when that is answered. */
export function startAnswer(response: ServerResponse, passage: Passage): void {
  for (const line of passage.lines) response.setHeader(line.name, combineField(line, response.getHeader(line.name)))
  awaitAnswer(response, passage)
}

/** Tells a passage when its Node response is answered, or when the client did not wait for that. */
export function awaitAnswer(response: ServerResponse, { finish }: Passage): void {
  if (finish === undefined) return
  // On HTTP/2 an answer that nobody waited for is finished too, but has not ended; and only its stream says that it is destroyed.
  const isAnswered = (): boolean => response.writableEnded && response.writableFinished
  const end = (): void => void finish(isAnswered() ? response.statusCode : undefined)
  const { stream } = response as { readonly stream?: { readonly destroyed: boolean } }
  // Who has hung up while the limiter was asked is gone already.
  if (response.destroyed || stream?.destroyed === true) end()
  else response.once('close', end)
}

/** Answers a refused request. */
export function refuse(response: ServerResponse, { status, problem }: Refusal): void {
  response.statusCode = status
  response.setHeader('Content-Type', PROBLEM_JSON)
  response.end(JSON.stringify(problem))
}
