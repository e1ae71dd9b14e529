import { show } from '../core/check.ts'
import { RequestError } from './request-error.ts'

/** Whether only this machine can reach an address. */
export function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === '::1'
}

/**
 * Throws unless a request to a service on loopback names this machine as its host, or one of `others`. A web page that has its own name
 * lead here would name itself, and is refused so.
 */
export function demandHost(host: string | undefined, others: readonly string[]): void {
  const name = nameOf(host ?? '')
  if (name === 'localhost' || isLoopback(name) || others.includes(name)) return
  const rule = 'must be localhost or an address of this machine, or be allowed by name'
  throw new RequestError('WRONG_HOST', `the host ${rule}, got ${show(host ?? '')}`)
}

/** The name in a Host header: no port, no brackets, lower case. */
function nameOf(host: string): string {
  return (/^\[([\da-f:.]+)\](:\d+)?$/i.exec(host)?.[1] ?? /^([^:]*)(:\d+)?$/.exec(host)?.[1] ?? '').toLowerCase()
}
