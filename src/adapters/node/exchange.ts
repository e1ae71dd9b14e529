import type { IncomingMessage, ServerResponse } from 'node:http'
import { combineField } from '../../http/header-fields.ts'
import { lowerCase } from '../../http/lower-case.ts'
import { encodeRefusal, type Refusal } from '../../http/refusal.ts'
import type { MiddlewareResult } from '../middleware/middleware.ts'

/** Reads a header of a Node request, by its name in lower case. */
export function readHeader({ headers }: Pick<IncomingMessage, 'headers'>, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/** Sets the headers of a result on a Node response, and finishes the result when the response has ended. */
export function startResponse(response: ServerResponse, { headers, finish }: MiddlewareResult): void {
  for (const field of headers) {
    response.setHeader(field.name, combineField(field, response.getHeader(lowerCase(field.name))))
  }
  if (finish !== undefined) finishAfter(response, finish)
}

/** Calls `finish` when a Node response has ended, or when the client has not waited for it. */
export function finishAfter(response: ServerResponse, finish: NonNullable<MiddlewareResult['finish']>): void {
  // On HTTP/2 a response that the client did not wait for is finished too, but has not ended; and only its stream is destroyed.
  const isComplete = (): boolean => response.writableEnded && response.writableFinished
  const end = (): void => void finish(isComplete() ? response.statusCode : undefined)
  const { stream } = response as { readonly stream?: { readonly destroyed: boolean } }
  // The client may have hung up while the limiter decided.
  if (response.destroyed || stream?.destroyed === true) end()
  else response.once('close', end)
}

/** Answers a refused request. */
export function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  const { status, contentType, body } = encodeRefusal(refusal)
  response.statusCode = status
  response.setHeader('Content-Type', contentType)
  response.end(body)
}
