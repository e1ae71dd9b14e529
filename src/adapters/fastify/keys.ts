import type { FastifyRequest } from 'fastify'
import type { AddressKeyOptions } from '../../http/address-key.ts'
import type { KeyOf, UserOf } from '../middleware/keys.ts'
import * as keys from '../middleware/keys.ts'

// As in every framework, with the request's type written out: `register()` has so many forms that it would not be found.

/** By user. Who is not signed in (`undefined`, `null` or an empty name) has no key. */
export const byUser: (userOf: UserOf<FastifyRequest>) => KeyOf<FastifyRequest> = keys.byUser

/** By user where there is one, otherwise by address. A user who is named like an address does not share that address's bucket. */
export const byUserOrIp: (userOf: UserOf<FastifyRequest>, options?: AddressKeyOptions) => KeyOf<FastifyRequest> =
  keys.byUserOrIp

/**
 * By a secret that the client sends: in a header, or wherever the function finds it. Only its SHA-256 is kept, so that who reads
 * the store cannot use it.
 * @param from the name of a header. Default `x-api-key`.
 */
export const byApiKey: (
  from?: string | ((request: FastifyRequest) => string | undefined | null),
) => KeyOf<FastifyRequest> = keys.byApiKey
