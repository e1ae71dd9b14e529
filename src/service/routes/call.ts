import { knownOptions, show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { OpenHold } from '../../limiter/hold.ts'
import { readHoldToken } from '../../limiter/hold-token.ts'
import type { Key, Limiter } from '../../limiter/limiter.ts'
import { type KeyOf, type NamedLimit, parseKey } from '../../limiter/parse-call.ts'
import type { JsonBody } from '../server/read-json.ts'
import { RequestError } from '../server/request-error.ts'
import type { PolicyInForce, PolicyLookup } from './service-context.ts'

/** Whom a request is about, and by which policy. */
export interface ParsedCall {
  readonly limiter: Limiter<string>
  readonly key: Key<string>
  readonly limits: readonly NamedLimit[]
  readonly keys: readonly KeyOf<NamedLimit>[]
}

/** The longest name in a key, in UTF-16 code units. It goes into the tokens of holds and onto the page. */
const LONGEST_NAME = 4_096

/** Reads who is meant, and throws unless the body has a policy, a key that fits it, and nothing besides but `others`. */
export function readCall(policies: PolicyLookup, body: JsonBody, others: readonly string[]): ParsedCall {
  knownOptions('a request', body, ['policy', 'key', ...others], 'INVALID_ARGUMENT')
  const { limiter, isTiered } = readPolicy(policies, body.policy)
  const limits = Object.keys(limiter.rules).map((name) => ({ name, tier: isTiered ? name : undefined }))
  const keys = parseKey(limits, body.key)
  for (const { subject } of keys) {
    const { length } = typeof subject === 'string' ? subject : subject.name
    if (length <= LONGEST_NAME) continue
    const message = `the name of a key must have at most ${LONGEST_NAME} characters here, got ${length}`
    throw new LimiterError('INVALID_KEY', message)
  }
  return { limiter, key: body.key as Key<string>, limits, keys }
}

/** The hold that the body names, of whatever policy it is. */
export function readHold(policies: PolicyLookup, body: JsonBody, others: readonly string[]): OpenHold<string> {
  knownOptions('a request', body, ['hold', ...others], 'INVALID_ARGUMENT')
  const { limiterName } = readHoldToken(body.hold)
  return readPolicy(policies, limiterName).limiter.resume(body.hold as string)
}

function readPolicy(policies: PolicyLookup, name: unknown): PolicyInForce {
  if (typeof name !== 'string') {
    throw new LimiterError('INVALID_ARGUMENT', `policy must be the name of a policy, got ${show(name)}`)
  }
  const policy = policies.get(name)
  if (policy !== undefined) return policy
  throw new RequestError('UNKNOWN_POLICY', `there is no policy ${show(name)}: GET /v1/policies lists those in force`)
}
