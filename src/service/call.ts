import { knownOptions, show } from '../core/check.ts'
import { LimiterError } from '../core/limiter-error.ts'
import type { OpenHold } from '../limiter/hold.ts'
import { readHoldToken } from '../limiter/hold-token.ts'
import type { Key, Limiter } from '../limiter/limiter.ts'
import { type KeyOf, type NamedLimit, parseKey } from '../limiter/parse-call.ts'
import type { PoliciesInForce, PolicyInForce } from './policies-in-force.ts'
import { RequestError } from './request-error.ts'

/** What the body of a request says, by name. */
export type Said = Readonly<Record<string, unknown>>

/** Whom a request is about, and by which policy. */
export interface Call {
  readonly limiter: Limiter<string>
  readonly key: Key<string>
  readonly limits: readonly NamedLimit[]
  readonly keys: readonly KeyOf<NamedLimit>[]
}

/** The longest name in a key, in UTF-16 code units. It goes into the tokens of holds and onto the page. */
const LONGEST_NAME = 4_096

/** Reads who is meant, and throws unless the body has a policy, a key that fits it, and nothing besides but `others`. */
export function readCall(policies: PoliciesInForce, said: Said, others: readonly string[]): Call {
  knownOptions('a request', said, ['policy', 'key', ...others], 'INVALID_ARGUMENT')
  const { limiter, isTiered } = readPolicy(policies, said.policy)
  const limits = Object.keys(limiter.rules).map((name) => ({ name, tier: isTiered ? name : undefined }))
  const keys = parseKey(limits, said.key)
  for (const { subject } of keys) {
    const { length } = typeof subject === 'string' ? subject : subject.name
    if (length <= LONGEST_NAME) continue
    const message = `the name of a key must have at most ${LONGEST_NAME} characters here, got ${length}`
    throw new LimiterError('INVALID_KEY', message)
  }
  return { limiter, key: said.key as Key<string>, limits, keys }
}

/** The hold that the body names, of whatever policy it is. */
export function readHold(policies: PoliciesInForce, said: Said, others: readonly string[]): OpenHold<string> {
  knownOptions('a request', said, ['hold', ...others], 'INVALID_ARGUMENT')
  const { limiterName } = readHoldToken(said.hold)
  return readPolicy(policies, limiterName).limiter.resume(said.hold as string)
}

function readPolicy(policies: PoliciesInForce, name: unknown): PolicyInForce {
  if (typeof name !== 'string') {
    throw new LimiterError('INVALID_ARGUMENT', `policy must be the name of a policy, got ${show(name)}`)
  }
  const policy = policies.get(name)
  if (policy !== undefined) return policy
  throw new RequestError('UNKNOWN_POLICY', `there is no policy ${show(name)}: GET /v1/policies lists those in force`)
}
