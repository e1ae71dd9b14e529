import { expect, it } from 'vitest'
import { connectionError } from './connection-error.ts'

it.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout', 'the request took too long to come in'],
  [
    'HPE_HEADER_OVERFLOW',
    '431 Request Header Fields Too Large',
    'the headers may have 16384 bytes, and these have more',
  ],
  ['HPE_INVALID_METHOD', '400 Bad Request', 'this is no request of HTTP: what Node says'],
])('tells a client of %s', (code, statusLine, message) => {
  const error = Object.assign(new Error('what Node says'), { code })
  expect(connectionError(error)).toEqual({ statusLine, message })
})
