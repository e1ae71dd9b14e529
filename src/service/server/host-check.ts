import { show } from '../../core/check.ts'
import { RequestError } from './request-error.ts'

/** Whether only this machine can reach an address. */
export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === '::1'
}

/** Throws when a request names more than one host: what is in front of the service may have gone by another than the service does. */
export function assertOneHost(rawHeaders: readonly string[]): void {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  if (count > 1) throw new RequestError('INVALID_REQUEST', `a request must have one Host header, got ${count}`)
}

/**
 * Throws unless a request to a service on loopback names this machine as its host, or one of `others`. A web page that has its own name
 * lead here would name itself, and is refused so.
 */
export function assertHost(host: string | undefined, others: readonly string[]): void {
  const name = readHostName(host ?? '')
  if (name === 'localhost' || isLoopback(name) || others.includes(name)) return
  const rule = 'must be localhost or an address of this machine, or be allowed by name'
  throw new RequestError('WRONG_HOST', `the host ${rule}, got ${show(host ?? '')}`)
}

/** The name in a Host header: no port, no brackets, lower case. */
function readHostName(host: string): string {
  return (/^\[([\da-f:.]+)\](:\d+)?$/i.exec(host)?.[1] ?? /^([^:]*)(:\d+)?$/.exec(host)?.[1] ?? '').toLowerCase()
}
