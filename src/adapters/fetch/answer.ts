import { combineField, type HeaderField } from '../../http/header-fields.ts'
import { lowerCase } from '../../http/lower-case.ts'
import type { MiddlewareResult } from '../middleware/middleware.ts'
import { untilRead } from './until-read.ts'

/**
 * Answers a request with the response of `handle`: sets the headers of the result on it, and finishes the result when the body has
 * been read to its end, was cancelled or failed. A reader that reaches the end finds the result finished. Returns `undefined` where
 * `handle` does.
 */
export async function answer<Answer extends Response | undefined>(
  request: Request,
  { headers, finish }: Pick<MiddlewareResult, 'headers' | 'finish'>,
  handle: () => Answer | Promise<Answer>,
): Promise<Answer> {
  if (finish === undefined) return withFields(await handle(), headers)
  let ending: Promise<void> | undefined
  const end = (status: number | undefined): Promise<void> => {
    ending ??= finish(status)
    return ending
  }
  const { signal } = request
  // The client may have hung up while the limiter decided.
  if (signal.aborted) void end(undefined)
  else signal.addEventListener('abort', () => void end(undefined), { once: true })
  try {
    return await untilRead(withFields(await handle(), headers), request.method, end)
  } catch (error) {
    await end(500)
    throw error
  }
}

/** Sets header fields on a response, or on a copy of one that is immutable or that several requests share. */
export function withFields<Answer extends Response | undefined>(
  response: Answer,
  fields: readonly HeaderField[],
): Answer {
  // An upgrade or a network error takes no headers.
  if (response === undefined || fields.length === 0 || response.status < 200) return response
  // A response with a type has a body, and only one without a body can be sent twice. Reading `body` makes some servers slow.
  const hasBody = response.headers.has('content-type') || response.body !== null
  // Only now: Hono's Node server replaces the headers of a response when its body is read.
  const { headers } = response
  // Hono's Node server has sent this one already.
  if (!hasBody && headers.has('x-hono-already-sent')) return response
  if (hasBody) {
    try {
      setFirst(fields, headers)
      return response
    } catch {
      // The headers of redirects and of responses of fetch() are immutable.
    }
  }
  const copy = new Response(response.body, response)
  setFirst(fields, copy.headers)
  return copy as Answer
}

/** Sets header fields as if they had been there before the handler, or an inner limiter, added its own. */
function setFirst(fields: readonly HeaderField[], headers: Headers): void {
  for (const field of fields) {
    const name = lowerCase(field.name)
    const added = headers.get(name)
    if (added === null) headers.set(name, field.value)
    else if (field.joins) headers.set(name, combineField({ ...field, value: added }, field.value))
  }
}
