import { expect, it } from 'vitest'
import { describeConnectionError } from './connection-error.ts'

it.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408, 'the request timed out before it was complete'],
  ['HPE_HEADER_OVERFLOW', 431, 'the headers may have 16384 bytes, and these have more'],
  ['HPE_INVALID_METHOD', 400, 'this is no request of HTTP: what Node says'],
])('tells a client of %s', (code, status, message) => {
  const error = Object.assign(new Error('what Node says'), { code })
  expect(describeConnectionError(error)).toEqual({ status, message })
})
