import { createHash } from 'node:crypto'
import { show, wholeNumber } from '../../core/check.ts'
import type { Subject } from '../../core/key.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { type AddressKeyOptions, addressKey } from '../../http/address-key.ts'
import type { Key } from '../../limiter/limiter.ts'
import type { Reader } from './reader.ts'

/** Whom a request counts for. `undefined`, `null`: nobody that is known, and the option `withoutKey` says what then. */
export type KeyOf<Request, Found = Subject> = (
  request: Request,
  reader: Reader<Request>,
) => Found | undefined | null | Promise<Found | undefined | null>

/** Whom a request counts for: one function, or for a limiter of tiers one for each of them. */
export type KeyOption<Request, Tier extends string> =
  | KeyOf<Request, Key<Tier>>
  | { readonly [Name in Tier]?: KeyOf<Request> }

/** A user as an application names it. */
export type UserId = string | number | bigint | undefined | null

/** Finds the user of a request. */
export type UserOf<Request> = (request: Request, reader: Reader<Request>) => UserId | Promise<UserId>

const MOST_ADDRESSES = 1_000

/**
 * By the client's address, as the framework answers for it: never by a header that the client could write. IPv6 by its network,
 * a /64 unless told otherwise.
 */
export function byIp(options: AddressKeyOptions = {}): KeyOf<unknown> {
  wholeNumber('ipv6Prefix', options.ipv6Prefix ?? 64, 32, 128)
  // A connection sends many requests: its address is parsed once.
  const known = new Map<string, Subject | undefined>()
  return (request, reader) => {
    const address = reader.address(request)
    if (address === undefined) return undefined
    const before = known.get(address)
    if (before !== undefined) return before
    const key = addressKey(address, options)
    if (known.size >= MOST_ADDRESSES) known.clear()
    known.set(address, key)
    return key
  }
}

/** By user. Who is not signed in (`undefined`, `null` or an empty name) has no key. */
export function byUser<Request>(userOf: UserOf<Request>): KeyOf<Request> {
  demandFunction('byUser()', userOf)
  return (request, reader) => {
    const user = userOf(request, reader)
    return user instanceof Promise ? user.then(userKey) : userKey(user)
  }
}

/** By user where there is one, otherwise by address. A user who is named like an address does not share that address's bucket. */
export function byUserOrIp<Request>(userOf: UserOf<Request>, options: AddressKeyOptions = {}): KeyOf<Request> {
  const user = byUser(userOf)
  const ip = byIp(options) as KeyOf<Request>
  return (request, reader) => {
    const key = user(request, reader)
    return key instanceof Promise ? key.then((found) => found ?? ip(request, reader)) : (key ?? ip(request, reader))
  }
}

/**
 * By a secret that the client sends: in a header, or wherever the function finds it. Only its SHA-256 is kept, so that who reads
 * the store cannot use it.
 * @param from the name of a header. Default `x-api-key`.
 */
export function byApiKey<Request>(
  from: string | ((request: Request) => string | undefined | null) = 'x-api-key',
): KeyOf<Request> {
  if (typeof from !== 'string') demandFunction('byApiKey()', from)
  const name = typeof from === 'string' ? from.toLowerCase() : ''
  return (request, reader) => {
    const secret = typeof from === 'string' ? reader.header(request, name) : from(request)
    if (secret === undefined || secret === null || secret === '') return undefined
    return { kind: 'api-key', name: createHash('sha256').update(secret, 'utf8').digest('base64url') }
  }
}

/** The function that finds the keys, whichever way they were given. */
export function keyFunction<Request>(option: unknown): KeyOf<Request, Key<string>> {
  if (typeof option === 'function') return option as KeyOf<Request, Key<string>>
  const isRecord = typeof option === 'object' && option !== null && !Array.isArray(option)
  const tiers = isRecord ? Object.entries(option) : []
  if (tiers.length === 0) {
    const rule = 'a function of the request such as byIp(), or one for each tier by its name'
    throw new LimiterError('INVALID_OPTION', `key must be ${rule}, got ${show(option)}`)
  }
  for (const [name, find] of tiers) demandFunction(`key.${name}`, find)
  return async (request, reader) => {
    const keys: Record<string, Subject> = {}
    for (const [name, find] of tiers as [string, KeyOf<Request>][]) {
      const key = await find(request, reader)
      if (key !== undefined && key !== null) keys[name] = key
    }
    return Object.keys(keys).length > 0 ? keys : undefined
  }
}

function userKey(user: UserId): Subject | undefined {
  return user === undefined || user === null || user === '' ? undefined : { kind: 'user', name: String(user) }
}

function demandFunction(what: string, value: unknown): void {
  if (typeof value === 'function') return
  throw new LimiterError('INVALID_OPTION', `${what} must be a function of the request, got ${show(value)}`)
}
