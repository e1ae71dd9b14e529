import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { startTimer } from '../../core/clock.ts'
import type { ConnectionError } from './connection-error.ts'
import type { ServiceResponse } from './response.ts'

/** As much of a body as may still come after an answer, to keep the connection for the next request. */
const SMALL_BYTES = 65_536
/** How long, and for how many bytes, the server reads on after it has refused a body as too large. */
const LINGER_MS = 1_000
const LINGER_BYTES = 32 * 1_048_576

/** How the connection of an answer goes on. */
export interface Sending {
  /** Whether this is the last answer on its connection. */
  readonly isLast: boolean
  /** Whether something else is still coming in that is no request. */
  readonly isBroken: boolean
}

/**
 * Sends an answer. When much of the request has not been read, the connection is closed afterwards, and not before the client has had
 * time to read: closing at once while it still sends would take the answer from it.
 */
export function sendResponse(
  request: IncomingMessage,
  response: ServerResponse,
  content: ServiceResponse,
  { isLast, isBroken }: Sending,
): void {
  const { status, headers, body } = content
  const isUnread = isBroken || (!request.readableEnded && mayBeLong(request))
  const closing = isLast || isUnread ? { connection: 'close' } : {}
  // What a client has already is not sent again, and is not of this length.
  const length = status === 304 ? {} : { 'content-length': Buffer.byteLength(body) }
  response.writeHead(status, { ...headers, ...length, ...closing })
  const shown = request.method === 'HEAD' ? '' : body
  if (!isUnread) {
    response.end(shown)
    return
  }
  response.write(shown)
  discardRest(request, () => response.end())
}

/** Responds to bytes that are no HTTP request. */
export function sendRawError(socket: Socket, { status }: ConnectionError, body: string): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  const stop = startTimer(undefined, LINGER_MS, () => socket.destroy(), { keepsAlive: false })
  socket.once('close', stop)
}

function mayBeLong({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > SMALL_BYTES
}

function discardRest(request: IncomingMessage, done: () => void): void {
  let bytes = 0
  let isDone = false
  const finish = (): void => {
    if (isDone) return
    isDone = true
    stop()
    request.pause()
    done()
  }
  const stop = startTimer(undefined, LINGER_MS, finish, { keepsAlive: false })
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > LINGER_BYTES) finish()
  })
  request.on('end', finish).on('close', finish).resume()
}
