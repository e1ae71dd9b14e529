import type { HeaderLine } from '../../http/header-lines.ts'
import { putLines } from '../../http/put-lines.ts'
import type { Passage } from '../gate/gate.ts'
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

function withLines<Answer extends Response | undefined>(response: Answer, lines: readonly HeaderLine[]): Answer {
  if (response === undefined || lines.length === 0 || isSealed(response)) return response
  if (!mayBeShared(response)) {
    try {
      putFirst(lines, response.headers)
      return response
    } catch {
      // The headers of redirects and of what fetch() has brought cannot be changed.
    }
  }
  const copy = new Response(response.body, response)
  putFirst(lines, copy.headers)
  return copy as Answer
}

/** Whether it is no answer to put headers on: an upgrade, an error of the network, or one that was written past the framework. */
function isSealed(response: Response): boolean {
  return response.status < 200 || response.headers.has('x-hono-already-sent')
}

/** Whether an application may answer many requests with this same object: only what has no body can be sent twice. */
function mayBeShared(response: Response): boolean {
  // To look at the body makes some servers slow, and what has a type has a body.
  return !response.headers.has('content-type') && response.body === null
}

/** Puts header lines on an answer as if they had stood there before the handler, or an inner limiter, has added its own. */
function putFirst(lines: readonly HeaderLine[], headers: Headers): void {
  const set = (name: string, value: string): void => headers.set(name, value)
  for (const line of lines) {
    const added = headers.get(line.name)
    if (added === null) set(line.name, line.value)
    else if (line.joins) putLines([{ ...line, value: added }], () => line.value, set)
  }
}
