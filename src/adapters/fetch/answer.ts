import type { HeaderField } from '../../http/header-fields.ts'
import { combineField } from '../../http/set-header-fields.ts'
import type { Passage } from '../gate/passage.ts'
import { untilRead } from './until-read.ts'

/**
 * Has `handle` answer a request that came through a gate: puts what the passage has to say on the answer, whichever it is, and
 * tells the passage when the answer has been read to its end, was given up or failed. Whoever reads it to its end finds what was
 * taken for it given back. An answer that is none is passed on.
 */
export async function answer<Answer extends Response | undefined>(
  request: Request,
  { lines, finish }: Pick<Passage, 'lines' | 'finish'>,
  handle: () => Answer | Promise<Answer>,
): Promise<Answer> {
  if (finish === undefined) return withLines(await handle(), lines)
  let ending: Promise<void> | undefined
  const end = (status: number | undefined): Promise<void> => {
    ending ??= finish(status)
    return ending
  }
  const { signal } = request
  // Who has hung up while the limiter was asked is gone already.
  if (signal.aborted) void end(undefined)
  else signal.addEventListener('abort', () => void end(undefined), { once: true })
  try {
    return await untilRead(withLines(await handle(), lines), request.method, end)
  } catch (error) {
    await end(500)
    throw error
  }
}

/** Puts header lines on an answer, or on a copy of one that cannot be changed or is not this request's own. */
export function withLines<Answer extends Response | undefined>(
  response: Answer,
  lines: readonly HeaderField[],
): Answer {
  // An upgrade, or an error of the network, is no answer to put headers on.
  if (response === undefined || lines.length === 0 || response.status < 200) return response
  const { headers } = response
  // What has a type has a body, and only what has none can be sent twice. To look at the body itself makes some servers slow.
  const hasBody = headers.has('content-type') || response.body !== null
  // Nor is one that was written past the framework.
  if (!hasBody && headers.has('x-hono-already-sent')) return response
  if (hasBody) {
    try {
      putFirst(lines, headers)
      return response
    } catch {
      // The headers of redirects and of what fetch() has brought cannot be changed.
    }
  }
  const copy = new Response(response.body, response)
  putFirst(lines, copy.headers)
  return copy as Answer
}

/** Puts header lines on an answer as if they had stood there before the handler, or an inner limiter, has added its own. */
function putFirst(lines: readonly HeaderField[], headers: Headers): void {
  for (const line of lines) {
    const added = headers.get(line.name)
    if (added === null) headers.set(line.name, line.value)
    else if (line.joins) headers.set(line.name, combineField({ ...line, value: added }, line.value))
  }
}
