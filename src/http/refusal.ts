import type { Decision } from '../core/decision.ts'
import { roundUpToSeconds } from './limit-item.ts'

const TYPES = 'https://iana.org/assignments/http-problem-types#'

/** The answer to a refused request. */
export interface Refusal {
  readonly status: 403 | 413 | 429 | 503
  /** After how many seconds to try again. Absent when it never passes. */
  readonly retryAfterSeconds: number | undefined
  /** The body, as `application/problem+json`. */
  readonly problem: Problem
}

/** The body of the answer to a refused request, as RFC 9457 has it. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** The names of the limits that refused. */
  readonly 'violated-policies': readonly string[]
}

/** The media type of a problem. */
export const PROBLEM_JSON = 'application/problem+json'

/** A refusal as a server sends it. */
export interface EncodedRefusal {
  readonly status: Refusal['status']
  readonly contentType: string
  readonly body: string
}

/** Encodes a refusal for every framework: none of them serialises the problem, so that all clients get the same bytes. */
export function encodeRefusal({ status, problem }: Refusal): EncodedRefusal {
  return { status, contentType: PROBLEM_JSON, body: JSON.stringify(problem) }
}

/** The answer to a request that has no key to be counted by. */
export const NO_KEY: Refusal = {
  status: 403,
  retryAfterSeconds: undefined,
  problem: {
    type: 'about:blank',
    title: 'Forbidden',
    status: 403,
    detail: 'The request does not identify its client.',
    'violated-policies': [],
  },
}

/**
 * Composes the answer to a refused request: 429; 413 for a cost that can never pass, however long the client waits; 503 when the
 * store fails and `onStoreFailure` is `'refuse'`.
 */
export function composeRefusal(decision: Decision): Refusal {
  const { reason, retryAfterMs, limitedBy } = decision
  const refusing = Object.entries(decision.tiers).filter(([, verdict]) => verdict !== undefined && !verdict.allowed)
  const shadows = new Set(decision.wouldRefuse)
  const names = refusing.map(([name]) => name).filter((name) => !shadows.has(name))
  const violated = names.length > 0 || limitedBy === undefined ? names : [limitedBy]
  const retryAfterSeconds = retryAfterMs === Number.POSITIVE_INFINITY ? undefined : roundUpToSeconds(retryAfterMs)
  const answer = (status: Refusal['status'], type: string, title: string, detail: string): Refusal => ({
    status,
    retryAfterSeconds,
    problem: { type, title, status, detail, 'violated-policies': violated },
  })
  if (reason === 'cost-exceeds-limit') {
    return answer(413, 'about:blank', 'Content Too Large', 'The request costs more than could ever pass at once.')
  }
  const wait = retryAfterSeconds === undefined ? '' : ` Try again in ${retryAfterSeconds} s.`
  if (reason === 'store-unavailable') {
    const type = `${TYPES}temporary-reduced-capacity`
    return answer(503, type, 'Service Unavailable', `Requests cannot be counted at the moment.${wait}`)
  }
  return answer(429, `${TYPES}quota-exceeded`, 'Too Many Requests', `The quota is used up.${wait}`)
}
