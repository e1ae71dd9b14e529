import type { IncomingMessage } from 'node:http'
import { show } from '../../core/check.ts'
import { LimiterError } from '../../core/limiter-error.ts'
import type { Key } from '../../limiter/options.ts'
import { decodePercent, parseQuery } from '../server/query.ts'
import { findPolicy } from './call.ts'
import { readCheckKey } from './check-key.ts'
import { readHeader } from './check-subject.ts'
import type { PolicyInForce, PolicyLookup } from './service-context.ts'

/** What a request to check asks. */
export interface CheckRequest {
  readonly policy: PolicyInForce
  readonly key: Key<string>
  /** As the client wrote it where it is no number: the limiter checks it. */
  readonly cost: number | string | undefined
  readonly idempotencyKey: string | undefined
  /** Whether a refusal has status 403: nginx knows no other. */
  readonly isForbidding: boolean
}

/**
 * Reads a request to check from its URL and its headers. A slash after the policy ends what is read, query included: Envoy puts the URL of
 * its client's request there.
 */
export function readCheckRequest(policies: PolicyLookup, request: IncomingMessage, rest: string): CheckRequest {
  const end = rest.search(/[/?]/)
  const policy = findPolicy(policies, decodePercent(end < 0 ? rest : rest.slice(0, end)))
  const query = parseQuery(rest[end] === '?' ? rest.slice(end + 1) : '')
  const key = readCheckKey(policy, request, query)
  const keyHeader = query.get('idempotencyKey')
  return {
    policy,
    key,
    cost: readCost(readHeader(request, COST_HEADER), query.get('cost')),
    idempotencyKey: keyHeader === undefined ? undefined : readHeader(request, keyHeader),
    isForbidding: readRefuse(query.get('refuse')),
  }
}

const COST_HEADER = 'X-Sluice-Cost'

function readCost(header: string | undefined, parameter: string | undefined): number | string | undefined {
  if (header !== undefined && parameter !== undefined) {
    const rule = 'a request has one cost, which the proxy must set in the place of any that came with it'
    throw new LimiterError('INVALID_ARGUMENT', `${rule}, got the header ${COST_HEADER} and the parameter cost`)
  }
  const text = header ?? parameter
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : text
}

function readRefuse(text: string | undefined): boolean {
  if (text === undefined || text === '403') return text === '403'
  throw new LimiterError('INVALID_ARGUMENT', `refuse must be 403, or be left out for 429, got ${show(text)}`)
}
