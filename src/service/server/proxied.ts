import type { IncomingMessage } from 'node:http'

/** Headers that only proxies add to a request. */
const ADDED = /^via$|^cdn-loop$|forwarded|(?:client|connecting|real|user)-?ip$|external-address$/

/**
 * Whether a request shows that a proxy has passed it on: then the address that it comes from is the proxy's, and says nothing about who
 * asks. HTTP/1.0 shows it too: nginx speaks that to a service by default, and no browser does.
 */
export function isProxied({ headers, httpVersion }: IncomingMessage): boolean {
  if (httpVersion === '1.0') return true
  for (const name in headers) if (ADDED.test(name)) return true
  return false
}
