import type { IncomingMessage } from 'node:http'
import { show } from '../../core/check.ts'
import type { Subject } from '../../core/key.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { addressKey } from '../../http/address-key.ts'

const ADDRESS = 'ip:'

/**
 * The subject that a text names: `ip:` and an address is the client that the address belongs to, as middleware counts it, and any other
 * text is a name. An IPv6 address counts by its /64: a client has 2^64 of them to choose from.
 */
export function readSubject(where: string, text: string): Subject {
  return text.startsWith(ADDRESS) ? readAddress(where, text.slice(ADDRESS.length)) : text
}

/** The client that an address belongs to. Throws unless the text is one address: a list may begin with what the client wrote. */
export function readAddress(where: string, text: string): Subject {
  const subject = addressKey(text)
  if (subject !== undefined) return subject
  throw new LimiterError('INVALID_KEY', `${where} must name one IP address, got ${show(text)}`)
}

/** Reads a header by a name of any case. `undefined` when it is missing or empty. */
export function readHeader({ headers }: IncomingMessage, name: string): string | undefined {
  const field = name.toLowerCase()
  const value = Object.hasOwn(headers, field) ? headers[field] : undefined
  return typeof value === 'string' && value !== '' ? decodeHeader(name, value) : undefined
}

/** The text of a header whose bytes are UTF-8. Throws for other bytes: two different texts must never be read as one. */
export function decodeHeader(name: string, value: string): string {
  if (ASCII.test(value)) return value
  try {
    return decoder.decode(Buffer.from(value, 'latin1'))
  } catch {
    throw new LimiterError('INVALID_KEY', `the header ${name} must be UTF-8, got ${show(value)}`)
  }
}

const ASCII = /^[\0-\x7f]*$/
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
