import type { FastifyRequest } from 'fastify'
import type { AddressKeyOptions } from '../../http/address-key.ts'
import type { KeyOf, UserOf } from '../middleware/keys.ts'
import * as keys from '../middleware/keys.ts'

// As in every framework, with the type of the request written out: TypeScript cannot infer it through the overloads of `register()`.

/** Counts by user. A request without a user (`undefined`, `null` or an empty name) has no key. */
export const byUser: (findUser: UserOf<FastifyRequest>) => KeyOf<FastifyRequest> = keys.byUser

/** Counts by user, or by address where there is no user. A user who is named like an address does not share its bucket. */
export const byUserOrIp: (findUser: UserOf<FastifyRequest>, options?: AddressKeyOptions) => KeyOf<FastifyRequest> =
  keys.byUserOrIp

/**
 * Counts by a secret that the client sends: in a header, or wherever the function finds it. The store gets its SHA-256 only, so
 * that a reader of the store cannot use it.
 * @param from the name of a header. Default `x-api-key`.
 */
export const byApiKey: (
  from?: string | ((request: FastifyRequest) => string | undefined | null),
) => KeyOf<FastifyRequest> = keys.byApiKey
