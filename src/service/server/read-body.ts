import type { IncomingMessage } from 'node:http'
import type { ConnectionError } from './connection-error.ts'
import { RequestError } from './request-error.ts'

/** Throws when a request announces a longer body than may be read. */
export function assertShort(request: IncomingMessage, maxBytes: number): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw createTooLargeError(maxBytes)
}

/**
 * Reads the body of a request, of `maxBytes` at most: one that was announced wrongly or not at all is refused at the byte that is
 * too much, and takes no more memory. What is left of it stays unread.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const stop = (): void => {
      request.off('data', take).off('end', end).off('close', close).off(GIVEN_UP, giveUp)
    }
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes <= maxBytes) {
        chunks.push(chunk)
        return
      }
      stop()
      request.pause()
      reject(createTooLargeError(maxBytes))
    }
    const end = (): void => {
      stop()
      resolve(Buffer.concat(chunks, bytes))
    }
    const close = (): void => {
      stop()
      reject(new RequestError('INVALID_REQUEST', 'the connection closed before the body was complete'))
    }
    const giveUp = ({ status, message }: ConnectionError): void => {
      stop()
      reject(new RequestError('INVALID_REQUEST', message, { status }))
    }
    request.on('data', take).on('end', end).on('close', close).on(GIVEN_UP, giveUp)
  })
}

/** Ends the reading of a body that will never be whole. Does nothing to a request whose body has come, or is not being read. */
export function giveUpBody(request: IncomingMessage, problem: ConnectionError): void {
  if (!request.complete) request.emit(GIVEN_UP, problem)
}

const GIVEN_UP = Symbol('given up')

function createTooLargeError(maxBytes: number): RequestError {
  return new RequestError('BODY_TOO_LARGE', `the body must have at most ${maxBytes} bytes, got more`)
}
