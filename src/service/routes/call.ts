import { knownOptions, show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Key } from '../../limiter/options.ts'
import type { OpenReservation } from '../../limiter/reservation.ts'
import { readHoldToken } from '../../limiter/reservation.ts'
import type { TieredLimiter } from '../../limiter/tiered-limiter.ts'
import type { JsonBody } from '../server/read-json.ts'
import { RequestError } from '../server/request-error.ts'
import type { PolicyInForce, PolicyLookup } from './service-context.ts'

/** Whom a request is about, and the limiter that decides it. */
export interface NamedCall {
  readonly limiter: TieredLimiter
  readonly key: Key<string>
}

/** The longest name in a key, in UTF-16 code units. It goes into the tokens of holds and onto the page. */
const LONGEST_NAME = 4_096

/** Reads who is meant, and throws unless the body has a policy, no name that is too long, and nothing besides but `others`. */
export function readCall(policies: PolicyLookup, body: JsonBody, others: readonly string[]): NamedCall {
  knownOptions('a request', body, ['policy', 'key', ...others], 'INVALID_ARGUMENT')
  const { limiter } = findPolicy(policies, body.policy)
  assertShortNames(body.key)
  return { limiter, key: body.key as Key<string> }
}

/** Throws when a text in a key is too long. Everything else about the key is for the limiter to check. */
export function assertShortNames(key: unknown): void {
  if (typeof key === 'object' && key !== null) for (const part of Object.values(key)) assertShortNames(part)
  if (typeof key !== 'string' || key.length <= LONGEST_NAME) return
  const message = `the name of a key must have at most ${LONGEST_NAME} characters here, got ${key.length}`
  throw new LimiterError('INVALID_KEY', message)
}

/** The hold that the body names, of whatever policy it is. */
export function readHold(policies: PolicyLookup, body: JsonBody, others: readonly string[]): OpenReservation<string> {
  knownOptions('a request', body, ['reservation', ...others], 'INVALID_ARGUMENT')
  const { limiterName } = readHoldToken(body.reservation)
  return findPolicy(policies, limiterName).limiter.resumeReservation(body.reservation as string)
}

/** The policy of that name. Throws when there is none. */
export function findPolicy(policies: PolicyLookup, name: unknown): PolicyInForce {
  if (typeof name !== 'string') {
    throw new LimiterError('INVALID_ARGUMENT', `policy must be the name of a policy, got ${show(name)}`)
  }
  const policy = policies.get(name)
  if (policy !== undefined) return policy
  const names = policies.all().map((one) => one.name)
  const hint = didYouMean(name, names) || '; GET /v1/policies lists all'
  throw new RequestError('UNKNOWN_POLICY', `unknown policy ${show(name)}${hint}`)
}
