import { createHash } from 'node:crypto'
import { invalidOption, wholeNumber } from '../../core/check.ts'
import type { Subject } from '../../core/key.ts'
import { type AddressKeyOptions, addressKey } from '../../http/address-key.ts'
import type { Key } from '../../limiter/options.ts'
import type { RequestAccessor } from './request-accessor.ts'

/**
 * Finds the key that a request counts for. A whole number counts as its text. `undefined` or `null`: it has none, and the option
 * `onMissingKey` says what to do.
 */
export type KeyOf<Request, Found = Subject | number | bigint> = (
  request: Request,
  accessor: RequestAccessor<Request>,
) => Found | undefined | null | Promise<Found | undefined | null>

/** Finds the key that a request counts for: one function, or for a limiter of tiers one for each tier. */
export type KeyOption<Request, Tier extends string> =
  | KeyOf<Request, Key<Tier> | number | bigint>
  | { readonly [Name in Tier]?: KeyOf<Request> }

/** A user as an application names it. */
export type UserId = string | number | bigint | undefined | null

/** Finds the user of a request. */
export type UserOf<Request> = (request: Request, accessor: RequestAccessor<Request>) => UserId | Promise<UserId>

const MOST_ADDRESSES = 1_000

/**
 * Counts by the client's address, as the framework resolves it: never by a header that the client could write. IPv6 addresses count
 * by their network, a /64 by default.
 */
export function byIp(options: AddressKeyOptions = {}): KeyOf<unknown> {
  wholeNumber('ipv6Prefix', options.ipv6Prefix ?? 64, 32, 128)
  // A connection sends many requests: its address is parsed once.
  const known = new Map<string, Subject | undefined>()
  return (request, accessor) => {
    const address = accessor.clientAddress(request)
    if (address === undefined) return undefined
    const before = known.get(address)
    if (before !== undefined) return before
    const key = addressKey(address, options)
    if (known.size >= MOST_ADDRESSES) known.clear()
    known.set(address, key)
    return key
  }
}

/** Counts by user. A request without a user (`undefined`, `null` or an empty name) has no key. */
export function byUser<Request>(findUser: UserOf<Request>): KeyOf<Request> {
  assertFunction('the argument of byUser()', findUser)
  return (request, accessor) => {
    const user = findUser(request, accessor)
    return user instanceof Promise ? user.then(createUserKey) : createUserKey(user)
  }
}

/** Counts by user, or by address where there is no user. A user who is named like an address does not share its bucket. */
export function byUserOrIp<Request>(findUser: UserOf<Request>, options: AddressKeyOptions = {}): KeyOf<Request> {
  const user = byUser(findUser)
  const ip = byIp(options) as KeyOf<Request>
  return (request, accessor) => {
    const key = user(request, accessor)
    return key instanceof Promise ? key.then((found) => found ?? ip(request, accessor)) : (key ?? ip(request, accessor))
  }
}

/**
 * Counts by a secret that the client sends: in a header, or wherever the function finds it. The store gets its SHA-256 only, so
 * that a reader of the store cannot use it.
 * @param from the name of a header. Default `x-api-key`.
 */
export function byApiKey<Request>(
  from: string | ((request: Request) => string | undefined | null) = 'x-api-key',
): KeyOf<Request> {
  if (typeof from !== 'string') assertFunction('the argument of byApiKey()', from)
  const name = typeof from === 'string' ? from.toLowerCase() : ''
  return (request, accessor) => {
    const secret = typeof from === 'string' ? accessor.header(request, name) : from(request)
    if (secret === undefined || secret === null || secret === '') return undefined
    return { kind: 'api-key', name: createHash('sha256').update(secret, 'utf8').digest('base64url') }
  }
}

/** Makes one function of the option `key`. */
export function resolveKeyFunction<Request>(option: unknown): KeyOf<Request, unknown> {
  if (typeof option === 'function') return option as KeyOf<Request, unknown>
  const isRecord = typeof option === 'object' && option !== null && !Array.isArray(option)
  const tiers = isRecord ? Object.entries(option) : []
  if (tiers.length === 0) {
    throw invalidOption('key', 'a function of the request such as byIp(), or one for each tier by its name', option)
  }
  for (const [name, find] of tiers) assertFunction(`key.${name}`, find)
  return async (request, accessor) => {
    const keys: Record<string, unknown> = {}
    for (const [name, find] of tiers as [string, KeyOf<Request>][]) {
      const key = await find(request, accessor)
      if (key !== undefined && key !== null) keys[name] = key
    }
    return Object.keys(keys).length > 0 ? keys : undefined
  }
}

function createUserKey(user: UserId): Subject | undefined {
  return user === undefined || user === null || user === '' ? undefined : { kind: 'user', name: String(user) }
}

function assertFunction(what: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidOption(what, 'a function of the request', value)
}
