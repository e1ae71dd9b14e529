/** The most bytes that the headers of a request may have. */
export const MAX_HEADER_BYTES = 16_384

/** What to answer to something that is no request. */
export interface ConnectionError {
  readonly statusLine: string
  readonly message: string
}

/** What went wrong on a connection, in words that its client understands. */
export function connectionError({ code, message }: NodeJS.ErrnoException): ConnectionError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { statusLine: '408 Request Timeout', message: 'the request took too long to come in' }
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    const text = `the headers may have ${MAX_HEADER_BYTES} bytes, and these have more`
    return { statusLine: '431 Request Header Fields Too Large', message: text }
  }
  return { statusLine: '400 Bad Request', message: `this is no request of HTTP: ${message}` }
}
