/** The most bytes that the headers of a request may have. */
export const MAX_HEADER_BYTES = 16_384

/** What to answer to something that is no request. */
export interface ConnectionError {
  readonly status: number
  readonly message: string
}

/** What went wrong on a connection, in words that its client understands. */
export function describeConnectionError({ code, message }: NodeJS.ErrnoException): ConnectionError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { status: 408, message: 'the request timed out before it was complete' }
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const text = `the headers may have ${MAX_HEADER_BYTES} bytes, and these have more`
    return { status: 431, message: text }
  }
  return { status: 400, message: `this is no request of HTTP: ${message}` }
}
